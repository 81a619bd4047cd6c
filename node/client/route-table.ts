import { OPERATIONS } from '../operations/registry.js';
import { type ClientRoute, clientRoute } from './routes.js';

/**
 * The routes of all operations that HTTP offers, in the order of the registry. The build replaces this module by the table
 * itself (`cli/dev/bundle.mjs`), so that the client does not carry the operations.
 */
export const ROUTES: readonly ClientRoute[] = OPERATIONS.map(clientRoute).filter((route) => route !== null);
