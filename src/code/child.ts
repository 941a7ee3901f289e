// The killable process in which programs run: reads frames from descriptor 3, answers on 4, has nothing else.
import { readSync, writeSync } from 'node:fs';
import { encodeFrame, FrameReader, type Frame } from './frames.ts';
import { programRunner } from './child-runner.ts';
import { loadMonty } from './monty.ts';
import type { ToChild } from './protocol.ts';

const questions = 3;
const answers = 4;
const messagesPerTurn = 16;
const largeBytes = 64 * 1024;
const buffer = Buffer.allocUnsafe(256 * 1024);
const reader = new FrameReader<ToChild>();
const runner = programRunner(loadMonty());
let waiting: Frame<ToChild>[] = [];

/** Blocking reads are the fastest way to wait, but native objects are freed only between turns: so a few at a time. */
function turn(): void {
  for (let i = 0; i < messagesPerTurn; i++) if (answerNext() > largeBytes) break;
  setImmediate(turn);
}

/** Answers the next message and says how large the answer was. */
function answerNext(): number {
  while (waiting.length === 0) {
    const count = readSync(questions, buffer, 0, buffer.length, null);
    if (count === 0) process.exit(0);
    waiting = reader.push(buffer.subarray(0, count));
  }
  const { head, tail } = waiting.shift()!;
  const answer = runner(head, tail);
  const frame = encodeFrame(answer.head, answer.tail);
  send(frame);
  return frame.length + tail.length;
}

function send(frame: Buffer): void {
  for (let at = 0; at < frame.length;) at += writeSync(answers, frame, at);
}

send(encodeFrame({ op: 'ready' }));
turn();
