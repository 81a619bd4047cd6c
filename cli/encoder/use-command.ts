import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseToml } from '../../node/config/config-file.js';
import { editSection } from '../../node/config/edit-section.js';
import { inspectConfiguration } from '../../node/config/load-settings.js';
import { replaceFile } from '../../node/config/replace-file.js';
import { systemClock, systemRandom } from '../../node/seams.js';
import { installedModels } from '../../node/semantics/models/installed.js';
import { missingPackages, runtimeCommand } from '../../node/semantics/onnx/runtime.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { settingSources, settingsFor } from '../global-flags.js';
import { objectView } from '../views/object-view.js';

/** What `[embeddings]` says of each encoder that this command can choose; null removes a key. */
type Choice = Readonly<Record<'backend' | 'model_folder' | 'dim', string | null>>;

/** Writes into the configuration which encoder the node uses. */
export const useCommand = defineCommand({
  name: 'encoder use',
  summary:
    'Choose the encoder in the configuration: "builtin", an installed model, or "none" for words only.',
  positionals: [{ name: 'name', doc: 'builtin, none, or a name that "encoder list" shows as installed' }],
  examples: ['encoder use multilingual-e5-small', 'encoder use builtin'],
  run: async (parsed, terminal) => {
    const name = parsed.positionals[0]!;
    const chosen = choiceOf(settingsFor(parsed).home, name);
    if (!chosen.ok) return failed(chosen.error);
    const { file, variables } = inspectConfiguration(...settingSources(parsed));
    const overriding = ['SVC_EMBED_BACKEND', 'SVC_EMBED_MODEL_FOLDER'].filter((each) =>
      variables.includes(each),
    );
    const written = writeChoice(file.path, chosen.value);
    if (!written.ok) return failed(written.error);
    const answer = { encoder: name, file: file.path, ...written.value };
    const notes = [
      ...(overriding.length === 0
        ? []
        : [`${overriding.join(' and ')} is set and comes before the file: unset it`]),
      ...(written.value.comments_kept ? [] : ['Comments of the file could not be kept; the backup has them']),
      ...(written.value.changed
        ? [
            'Restart the node: it uses this encoder from then on, and makes missing vectors in the background ("mnemesh reembed" shows how far it is)',
          ]
        : []),
    ];
    await terminal.print(
      parsed.flags.has('json')
        ? `${JSON.stringify({ ...answer, notes })}\n`
        : `${objectView(answer)}${notes.map((note) => `${note}\n`).join('')}`,
    );
    return ok(0);
  },
});

function choiceOf(home: string, name: string): Result<Choice> {
  if (name === 'builtin' || name === 'none') return ok({ backend: name, model_folder: null, dim: null });
  const models = installedModels(home);
  const model =
    models.find((each) => each.name === name) ??
    models.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (model === undefined)
    return fail(
      'NOT_FOUND',
      `no encoder "${name}" is installed; "mnemesh encoder list" names those that are`,
    );
  if (model.problem !== null) return fail('UNAVAILABLE', model.problem);
  const missing = missingPackages(home);
  if (missing.length > 0)
    return fail('UNAVAILABLE', `the model needs ${missing.join(' and ')}: run ${runtimeCommand(home)}`);
  return ok({ backend: 'onnx', model_folder: model.folder, dim: null });
}

function writeChoice(path: string, choice: Choice) {
  const isThere = existsSync(path);
  const text = isThere ? readFileSync(path, 'utf8') : '';
  const parsed = parseToml(text, path);
  if ('code' in parsed) return fail('CONFIG_INVALID', parsed.message);
  const edited = editSection(text, parsed.values, 'embeddings', choice);
  const unchanged = { changed: false, backup: null, comments_kept: true };
  if (edited.text === text) return ok(unchanged);
  let backup: string | null = null;
  try {
    if (isThere) backup = replaceFile(path, text, edited.text, systemClock, systemRandom);
    else {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(path, edited.text, { mode: 0o600, flag: 'wx' });
    }
  } catch (error) {
    return fail('UNAVAILABLE', `${path} could not be written: ${(error as Error).message}`);
  }
  return ok({ changed: true, backup, comments_kept: edited.commentsKept });
}
