/** The release, as `/health`, capabilities and `--version` report it; a test compares it with package.json. */
export const VERSION = '0.1.0';
