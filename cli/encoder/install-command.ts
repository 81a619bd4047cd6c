import { inheritedEnvironment } from '../../node/config/load-settings.js';
import { systemClock } from '../../node/seams.js';
import { MODEL_HUB } from '../../node/semantics/models/catalog.js';
import { installModel } from '../../node/semantics/models/install.js';
import { installRuntime, missingPackages } from '../../node/semantics/onnx/runtime.js';
import { fail, failed, ok } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { defineCommand } from '../define-command.js';
import { flagValue, settingsFor } from '../global-flags.js';
import { Progress } from '../progress.js';
import { objectView } from '../views/object-view.js';

const MEGABYTE = 1024 * 1024;
const BAR_WIDTH = 24;

/** Installs a sentence model into the home, and what runs it. */
export const installCommand = defineCommand({
  name: 'encoder install',
  summary:
    'Install a sentence model, and the runtime that it needs. An interrupted download is continued by the next call.',
  positionals: [
    {
      name: 'source',
      doc: 'Name from "encoder list", a folder, or the https address of a folder',
      path: 'folder',
    },
  ],
  flags: [
    {
      name: 'name',
      kind: 'value',
      value: 'name',
      doc: 'The name that it gets here (default: that of the source)',
    },
    { name: 'hub', kind: 'value', value: 'url', doc: `Address of the hub for names (default: ${MODEL_HUB})` },
    { name: 'sha256', kind: 'value', value: 'digits', doc: 'The checksum that the ONNX file must have' },
    {
      name: 'no-runtime',
      kind: 'switch',
      doc: 'Install the files only; the runtime is there or comes later',
    },
  ],
  examples: [
    'encoder install multilingual-e5-small',
    'encoder install /srv/models/bge-m3',
    'encoder install https://models.example.com/e5-small/ --sha256 <digits>',
  ],
  run: async (parsed, terminal) => {
    const { home } = settingsFor(parsed);
    const env = inheritedEnvironment();
    const sha256 = flagValue(parsed, 'sha256') ?? null;
    if (sha256 !== null && !/^[0-9a-f]{64}$/i.test(sha256))
      return fail('VALIDATION_FAILED', '--sha256 takes 64 hexadecimal digits', { fields: ['sha256'] });
    const progress = new Progress(process.stderr, 'encoder install:');
    try {
      const installed = await installModel({
        ...{ home, env, sha256, source: parsed.positionals[0]!, now: instantFromMs(systemClock.nowMs()) },
        name: flagValue(parsed, 'name') ?? null,
        hub: flagValue(parsed, 'hub') ?? null,
        progress: (file, bytes, of) => progress.say(`${file} ${bar(bytes, of)}`),
      });
      if (!installed.ok) return failed(installed.error);
      if (!parsed.flags.has('no-runtime') && missingPackages(home).length > 0) {
        progress.say('the runtime, with npm');
        const runtime = await installRuntime(home, env);
        if (!runtime.ok) {
          const { code, message } = runtime.error;
          return fail(code, `the model is installed as ${installed.value.name}, but ${message}`);
        }
      }
      progress.end();
      const { name, folder, dim, bytes, verified } = installed.value;
      const runtime = missingPackages(home).length > 0 ? 'missing' : 'installed';
      const answer = { name, folder, dim, bytes, checksum_verified: verified, runtime };
      const next = `Use it with: mnemesh encoder use ${name}\n`;
      await terminal.print(
        parsed.flags.has('json') ? `${JSON.stringify(answer)}\n` : `${objectView(answer)}${next}`,
      );
      return ok(0);
    } finally {
      progress.end();
    }
  },
});

/** How far a download is: a bar where its length is known. */
function bar(bytes: number, of: number | null): string {
  const megabytes = (count: number) => (count / MEGABYTE).toFixed(1);
  if (of === null) return `${megabytes(bytes)} MB`;
  const done = Math.round((BAR_WIDTH * bytes) / Math.max(1, of));
  return `[${'#'.repeat(done)}${'.'.repeat(BAR_WIDTH - done)}] ${megabytes(bytes)} of ${megabytes(of)} MB`;
}
