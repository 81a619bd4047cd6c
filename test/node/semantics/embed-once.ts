/** Embeds one text and leaves; exit code 7 when that worked. */
import { BuiltinEmbedder } from '../../../node/semantics/encoder/builtin-embedder.js';
import { realClock, realScheduler, recordingLog } from '../../storage/vectors/real-seams.js';

const embedder = new BuiltinEmbedder({ clock: realClock, scheduler: realScheduler, log: recordingLog() });
const outcome = await embedder.embed(['print nothing']);
process.exitCode = outcome.ok ? 7 : 1;
