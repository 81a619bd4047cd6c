import { BuiltinEmbedder } from '../../node/semantics/encoder/builtin-embedder.js';
import { realClock, realScheduler, recordingLog } from '../storage/vectors/real-seams.js';
import { IdleEmbedder } from '../support/idle-embedder.js';
import { answeringEmbedderContract, embedderContract } from './embedder-contract.js';

const builtin = (entry?: URL): BuiltinEmbedder =>
  new BuiltinEmbedder({
    clock: realClock,
    scheduler: realScheduler,
    log: recordingLog(),
    ...(entry === undefined ? {} : { entry }),
  });
const BROKEN = new URL('data:text/javascript,throw new Error("no weights here")');

embedderContract('built in', () => builtin());
embedderContract('built in, without its model', () => builtin(BROKEN));
embedderContract('idle', () => new IdleEmbedder(true, 0));
answeringEmbedderContract('built in', () => builtin());
