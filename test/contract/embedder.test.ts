import { BuiltinEmbedder } from '../../node/semantics/encoder/builtin-embedder.js';
import { realClock, realScheduler, recordingLog } from '../storage/vectors/real-seams.js';
import { IdleEmbedder } from '../support/idle-embedder.js';
import { answeringEmbedderContract, embedderContract } from './embedder-contract.js';

const builtin = (options: { readonly entry?: URL; readonly here?: boolean } = {}): BuiltinEmbedder =>
  new BuiltinEmbedder({ clock: realClock, scheduler: realScheduler, log: recordingLog(), ...options });
const BROKEN = new URL('data:text/javascript,throw new Error("no weights here")');

embedderContract('built in', () => builtin());
embedderContract('built in, without its model', () => builtin({ entry: BROKEN }));
embedderContract('idle', () => new IdleEmbedder());
answeringEmbedderContract('built in', () => builtin());
embedderContract('built in, in the thread of who asks', () => builtin({ here: true }));
answeringEmbedderContract('built in, in the thread of who asks', () => builtin({ here: true }));
