import { build } from './build.mjs';
import { install } from './install.mjs';

// Installs and builds what is missing; does nothing, and quickly, when nothing is.
install();
await build();
