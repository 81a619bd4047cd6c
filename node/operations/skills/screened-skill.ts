import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Call } from '../../pipeline/call.js';
import type { FileSource } from './skill-folder.js';

/** A skill of a folder, whose text and files pass the screen for secrets as they are read. */
export async function screenedSkill<S extends FileSource & { readonly text: string }>(
  { screenRow }: Pick<Call, 'screenRow'>,
  source: S,
): Promise<Result<S>> {
  if (screenRow === undefined) return ok(source);
  const text = await screenRow(source.text, 'SKILL.md');
  if (!text.ok) return failed(text.error);
  const read = async (path: string): Promise<Result<Uint8Array>> => {
    const bytes = await source.read(path);
    if (!bytes.ok) return bytes;
    // Bytes that are no text keep their values as characters.
    const characters = Buffer.from(bytes.value).toString('latin1');
    const passed = await screenRow(characters, path);
    if (!passed.ok) return failed(passed.error);
    return passed.value === characters ? bytes : ok(Buffer.from(passed.value, 'latin1'));
  };
  return ok({ ...source, text: text.value, read });
}
