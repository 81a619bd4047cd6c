import { build } from './build.mjs';
import { install } from './install.mjs';

// Installs and builds what is missing; returns quickly when nothing is.
install();
await build();
