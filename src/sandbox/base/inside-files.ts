import type { SandboxUser } from '../sandbox-user.ts';
import { insidePaths } from '../../schema/index.ts';

/** PID 1 where the engine brings none: reaps what the agent leaves behind and hands a wish to end on. */
export const initScript = `#!/bin/sh
"$@" &
child=$!
trap 'kill -TERM $child 2>/dev/null' TERM INT
while kill -0 $child 2>/dev/null; do
  wait $child
  code=$?
done
exit $code
`;

/** The few files of /etc that programs ask for. */
export function insideFiles({ uid, gid }: SandboxUser): Record<string, string> {
  return {
    '/etc/passwd': `root:x:0:0:root:/root:/bin/sh\nagent:x:${uid}:${gid}:agent:${insidePaths.home}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n`,
    '/etc/group': `root:x:0:\nagent:x:${gid}:\nnogroup:x:65534:\n`,
    '/etc/hosts': '127.0.0.1 localhost\n::1 localhost\n',
    '/etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
    '/etc/resolv.conf': '',
    '/etc/os-release': 'ID=oubliette\nNAME="Oubliette sandbox"\n',
  };
}
