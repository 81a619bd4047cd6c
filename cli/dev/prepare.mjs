import './node-version.mjs';

// Imported afterwards, because an older Node cannot read these modules.
const { install } = await import('./install.mjs');
const { build } = await import('./build.mjs');

// Installs and builds what is missing; returns quickly when nothing is. The native part of SQLite may take a minute,
// and most of the build does without it.
const { native } = await install();
await Promise.all([native, build({ native })]);
