/**
 * Ways out of a sandbox, tried from inside with a shell or Node. Each script prints `held` when the wall held, and
 * otherwise what it got hold of. `$HOST_*` are filled in by the test.
 */
export interface Probe {
  name: string;
  script: string;
}

/** Prints what `command` managed to do, else `held`. */
const refuses = (command: string): string =>
  `if out=$( { ${command}; } 2>&1 ); then echo "did: ${command.replaceAll('"', "'").replaceAll('$', '')} $out"; else echo held; fi`;
const node = (code: string): string => `/usr/bin/node -e '${code}'`;

export const probes: Probe[] = [
  {
    name: 'has no capability in any set',
    script: `grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb)" /proc/self/status | grep -v 0000000000000000 || echo held`,
  },
  {
    name: 'cannot gain privileges by running a program',
    script: `grep -q "^NoNewPrivs:.1" /proc/self/status && echo held || grep NoNew /proc/self/status`,
  },
  {
    name: 'has a system call filter',
    script: `grep -q "^Seccomp:.2" /proc/self/status && echo held || grep Seccomp /proc/self/status`,
  },
  {
    name: 'is not root and cannot become root',
    script: node(
      `try { process.setuid(0); console.log("became", process.getuid()) } catch { console.log(process.getuid() > 0 ? "held" : "is root") }`,
    ),
  },
  {
    name: 'finds no program with the setuid bit',
    script: `found=$(find / -xdev -perm /6000 -type f 2>/dev/null); [ -z "$found" ] && echo held || echo "$found"`,
  },
  {
    name: 'cannot write to its root file system',
    script: `for p in /x /etc/x /usr/bin/x /opt/oubliette/x /var/x /root/x /lib/x; do touch $p 2>/dev/null && echo "wrote $p"; done; echo held`,
  },
  { name: 'cannot replace its supervisor', script: refuses('echo x > /opt/oubliette/supervisor.js') },
  { name: 'cannot mount', script: refuses('mkdir -p /tmp/m && mount -t tmpfs none /tmp/m') },
  { name: 'cannot make its root writable again', script: refuses('mount -o remount,rw /') },
  { name: 'cannot enter a new user namespace', script: refuses('unshare -U true') },
  { name: 'cannot enter a new mount or PID namespace', script: refuses('unshare -m true || unshare -p -f true') },
  { name: 'cannot change its root folder', script: refuses('chroot /tmp /bin/true') },
  { name: 'cannot make a device', script: refuses('mknod /tmp/disk b 254 0') },
  {
    name: 'sees no disk, memory or kernel log device',
    script: `for d in mem kmem kmsg port sda vda nvme0n1 fuse kvm; do [ -e /dev/$d ] && head -c 1 /dev/$d >/dev/null 2>&1 && echo "read /dev/$d"; done; echo held`,
  },
  {
    name: 'has no network interface but its own loopback',
    script: `others=$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " " | grep -vx lo); [ -z "$others" ] && echo held || echo "$others"`,
  },
  {
    name: 'cannot reach the network',
    script: node(
      `const s = require("net").connect({host:"1.1.1.1",port:53,timeout:1500}); s.on("connect", () => {console.log("connected"); process.exit()}); for (const e of ["error","timeout"]) s.on(e, () => {console.log("held"); process.exit()})`,
    ),
  },
  {
    name: 'cannot reach a port of the host',
    script: node(
      `const s = require("net").connect({host:"127.0.0.1",port:$HOST_PORT,timeout:1500}); s.on("connect", () => {console.log("connected"); process.exit()}); for (const e of ["error","timeout"]) s.on(e, () => {console.log("held"); process.exit()})`,
    ),
  },
  {
    name: 'cannot reach an abstract socket of the host',
    script: node(
      `const s = require("net").connect({path:"\\0$HOST_ABSTRACT"}); s.on("connect", () => {console.log("connected"); process.exit()}); s.on("error", () => {console.log("held"); process.exit()})`,
    ),
  },
  {
    name: 'finds no socket but those in /mcp',
    script: `found=$(find / -type s -not -path "/proc/*" -not -path "/mcp/*" 2>/dev/null); [ -z "$found" ] && echo held || echo "$found"`,
  },
  { name: 'cannot read a file of the host', script: refuses('cat $HOST_SECRET') },
  { name: 'cannot reach another session through its folders', script: refuses('ls $HOST_OTHER') },
  {
    name: 'cannot follow a link out of its workspace',
    script: `ln -sfn $HOST_SECRET /workspace/link; ln -sfn / /workspace/root; cat /workspace/link 2>/dev/null || cat /workspace/root$HOST_SECRET 2>/dev/null || echo held`,
  },
  {
    name: 'cannot change what is in /mcp',
    script: `touch /mcp/x 2>/dev/null && echo touched; rm -f /mcp/exec.sock 2>/dev/null && echo removed; mv /mcp/exec.sock /mcp/y 2>/dev/null && echo moved; ln -s / /mcp/l 2>/dev/null && echo linked; echo held`,
  },
  {
    name: "finds nothing of the server's environment in any process",
    script: `for f in /proc/[0-9]*/environ; do tr "\\0" "\\n" < $f 2>/dev/null | grep -F "$HOST_CANARY"; done; echo held`,
  },
  {
    name: 'sees no process of the host',
    script: `n=$(ls -d /proc/[0-9]* | wc -l); [ $n -lt 20 ] && ! grep -lF "$HOST_CANARY" /proc/[0-9]*/cmdline 2>/dev/null && echo held || echo "$n processes"`,
  },
  { name: 'cannot end a process of the host', script: `kill -9 $HOST_PID 2>/dev/null; echo held` },
  { name: 'cannot get out through the root of process 1', script: refuses('cat /proc/1/root$HOST_SECRET') },
  { name: "cannot write into another process's memory", script: refuses('echo x > /proc/1/mem') },
  {
    name: 'cannot change kernel settings',
    script: `for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sysrq-trigger; do echo x 2>/dev/null > $f && echo "wrote $f"; done; echo held`,
  },
  {
    name: 'cannot touch control groups',
    script: `for f in $(find /sys/fs/cgroup -name "release_agent" -o -name "cgroup.procs" -o -name "memory.max" -o -name "notify_on_release" 2>/dev/null | head -20); do echo 0 2>/dev/null > $f && echo "wrote $f"; done; mkdir /sys/fs/cgroup/x 2>/dev/null && echo made; echo held`,
  },
  { name: 'cannot read the kernel log', script: refuses('dmesg | grep .') },
  { name: 'cannot load a kernel module', script: refuses('insmod /tmp/x.ko') },
  {
    name: 'cannot set the clock or the host name',
    script: `year=$(date +%Y); date -s 2001-01-01 >/dev/null 2>&1; hostname evil 2>/dev/null; [ $(date +%Y) = $year ] && [ $(hostname) != evil ] && echo held || date`,
  },
  { name: 'cannot raise its limits', script: refuses('ulimit -Hn 1048576') },
  { name: 'cannot take a better priority', script: refuses('nice -n -5 true && renice -n -5 -p $$') },
  {
    name: 'inherits no descriptor of a folder or file of the host',
    script: `for f in /proc/[0-9]*/fd/*; do t=$(readlink $f 2>/dev/null); case "$t" in /dev/*|/proc/*|/spool/*|/opt/oubliette/*|pipe:*|socket:*|anon_inode:*|"") ;; *) [ -d $f/. ] && echo "$f is $t"; head -c 1 $f 2>/dev/null | grep -q . && echo "read $t";; esac; done; echo held`,
  },
];

/** A probe's script with the names of what is outside. */
export const fillIn = (probe: Probe, names: Record<string, string>): string =>
  probe.script.replace(/\$(HOST_\w+)/g, (_, key: string) => names[key]!);
