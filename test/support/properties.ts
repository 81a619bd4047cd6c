import fc from 'fast-check';
import { systemRandom } from '../../node/seams.js';

/**
 * fast-check with a seed: the same one in every run, so that a change is judged by the same histories, or the one in
 * `PROPERTY_SEED`, where `random` draws one. A property that fails prints its seed. `test:long` draws new ones.
 */
const asked = process.env['PROPERTY_SEED'] ?? '20261101';
const seed = asked === 'random' ? Number.parseInt(systemRandom.uuid().slice(0, 7), 16) : Number(asked);
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });

export default fc;
