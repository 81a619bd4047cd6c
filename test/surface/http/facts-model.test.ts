import { after, before, it } from 'node:test';
import { compareWithModel } from './facts-model.js';
import { type HttpNode, openHttpNode } from './http-node.js';

let node: HttpNode;
before(async () => {
  node = await openHttpNode();
});
after(() => node.close());

it('a model with drawn histories answers as the service does, at drawn instants on both axes', async () => {
  await compareWithModel(node, 30);
});
