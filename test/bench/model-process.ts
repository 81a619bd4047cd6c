/** The scripted chat model in a process of its own. */
import { ModelServer } from '../support/model-server.js';

const server = await ModelServer.start('native');
server.says = 'deploy\nwindow\nsunday';
process.send!({ port: server.port });
process.on('disconnect', () => process.exit());
