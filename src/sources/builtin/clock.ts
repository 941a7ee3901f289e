import { fail, type BuiltInBundle } from '../../schema/index.ts';
import { publicTool } from './public-tool.ts';

const zone = (what: string) => ({ type: 'string', maxLength: 64, default: 'UTC', description: what }) as const;
const time = {
  type: 'string',
  maxLength: 100,
  description: 'RFC 3339 time (2026-11-15T09:00:00Z), a local time without offset (2026-11-15T09:00), or a date.',
} as const;
const amount = (unit: string) =>
  ({
    type: 'integer',
    minimum: -1_000_000_000,
    maximum: 1_000_000_000,
    default: 0,
    description: `${unit} to add; negative to subtract.`,
  }) as const;
const moment = {
  type: 'object',
  properties: {
    iso: { type: 'string' },
    unix_ms: { type: 'integer' },
    timezone: { type: 'string' },
    offset: { type: 'string' },
    date: { type: 'string' },
    time: { type: 'string' },
    weekday: { type: 'string' },
  },
  required: ['iso', 'unix_ms', 'timezone', 'offset', 'date', 'time', 'weekday'],
};
const returns = '{iso, unix_ms, timezone, offset, date, time, weekday}';
const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

/** `clock`: what time it is, elsewhere, and later. */
export function clockTools(): BuiltInBundle {
  return {
    slug: 'clock',
    displayName: 'Clock',
    description: 'The time now, in other time zones, and after a while.',
    tools: [
      publicTool({
        slug: 'now',
        description: 'The time now in a time zone.',
        properties: { timezone: zone('IANA name such as Europe/Berlin.') },
        required: [],
        outputSchema: moment,
        returns,
        example: 'clock.now(timezone="Europe/Berlin")',
        run: ({ timezone }) => told(inZone(timezone, (known) => Temporal.Now.zonedDateTimeISO(known))),
      }),
      publicTool({
        slug: 'convert',
        description: 'The same moment in another time zone.',
        properties: {
          time,
          timezone: {
            type: 'string',
            maxLength: 64,
            description: 'The time zone to convert to: an IANA name such as Asia/Tokyo.',
          },
          from_timezone: zone('The time zone of a time that names none.'),
        },
        required: ['time', 'timezone'],
        outputSchema: moment,
        returns,
        example: 'clock.convert(time="2026-11-15T09:00:00Z", timezone="Asia/Tokyo")',
        run: ({ time: text, timezone, from_timezone }) =>
          told(inZone(timezone, (known) => parsed(text, from_timezone).withTimeZone(known))),
      }),
      publicTool({
        slug: 'add',
        description:
          'A time plus years, months, weeks, days, hours, minutes and seconds, by the calendar of its time zone.',
        properties: {
          time,
          years: amount('Years'),
          months: amount('Months'),
          weeks: amount('Weeks'),
          days: amount('Days'),
          hours: amount('Hours'),
          minutes: amount('Minutes'),
          seconds: amount('Seconds'),
          timezone: zone('The time zone to reckon in; days may be 23 or 25 hours long there.'),
        },
        required: ['time'],
        outputSchema: moment,
        returns,
        example: 'clock.add(time="2026-01-31", months=1)',
        run: ({ time: text, timezone, ...amounts }) => {
          const start = inZone(timezone, (known) => parsed(text, timezone).withTimeZone(known));
          try {
            const { years, months, weeks, days, ...clock } = amounts;
            return told(start.add({ years, months, weeks, days }).add(clock));
          } catch (error) {
            throw fail('tool.failed', { reason: 'The result lies outside the calendar. Add less.' }, { cause: error });
          }
        },
      }),
    ],
  };
}

function told(at: Temporal.ZonedDateTime): object {
  return {
    iso: at.toString({ timeZoneName: 'never', smallestUnit: 'millisecond' }).replace('+00:00', 'Z'),
    unix_ms: at.epochMilliseconds,
    timezone: at.timeZoneId,
    offset: at.offset,
    date: at.toPlainDate().toString(),
    time: at.toPlainTime().toString({ smallestUnit: 'second' }),
    weekday: weekdays[at.dayOfWeek - 1],
  };
}

function parsed(text: string, zoneOfLocal: string): Temporal.ZonedDateTime {
  const attempts: (() => Temporal.ZonedDateTime)[] = [
    () => Temporal.ZonedDateTime.from(text),
    () => Temporal.Instant.from(text).toZonedDateTimeISO('UTC'),
    () => Temporal.PlainDateTime.from(text).toZonedDateTime(zoneOfLocal),
  ];
  inZone(zoneOfLocal, (known) => Temporal.Now.zonedDateTimeISO(known));
  for (const attempt of attempts)
    try {
      return attempt();
    } catch {
      continue;
    }
  throw fail('tool.failed', {
    reason: `${JSON.stringify(text)} is no time. Use RFC 3339, such as 2026-11-15T09:00:00Z.`,
  });
}

function inZone<T>(zoneName: string, use: (known: string) => T): T {
  try {
    return use(zoneName);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw fail(
      'tool.failed',
      { reason: `${JSON.stringify(zoneName)} is no time zone. Use an IANA name such as Europe/Berlin.` },
      { cause: error },
    );
  }
}
