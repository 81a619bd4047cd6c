import { loadSettings } from '../../node/config/load-settings.js';
import { startDaemon } from '../../node/runtime/daemon.js';
import { cleanEnvironment, type RunningDaemon } from './daemon-process.js';

/** What starts a daemon: the project's own build, or another one. */
interface Program {
  readonly loadSettings: typeof loadSettings;
  readonly startDaemon: typeof startDaemon;
}

/**
 * Starts a daemon in this process, as `serve` would: for tests of what it answers. Those that kill it, look at what it writes, or
 * are about the program that the build made start a process; so do those that read the file of the database past SQLite, which
 * takes this process's locks away.
 */
export async function startDaemonHere(
  home: string,
  port: number,
  extra: Record<string, string> = {},
  program: Program = { loadSettings, startDaemon },
): Promise<RunningDaemon> {
  const sources = { env: cleanEnvironment(home, extra), report: () => undefined };
  const daemon = await program.startDaemon(program.loadSettings({ port }, sources));
  return {
    base: `http://127.0.0.1:${port}/api/v1`,
    home,
    end: async () => {
      await daemon.stop();
      return daemon.stopped;
    },
  };
}
