#!/usr/bin/env node
import module from 'node:module';
import { runProgram } from './run-program.js';
import { Terminal } from './terminal.js';

// From Node 22.8 on, compiled code is cached between starts; modules loaded after this line profit.
(module as { enableCompileCache?: () => unknown }).enableCompileCache?.();
const terminal = new Terminal(process.stdout, process.stderr);
process.exit(await runProgram(process.argv.slice(2), terminal));
