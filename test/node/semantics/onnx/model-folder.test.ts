import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readModelFolder } from '../../../../node/semantics/onnx/model-folder.js';
import { openOnnxEmbedder } from '../../../../node/semantics/onnx/onnx-embedder.js';
import { realClock, realScheduler, recordingLog } from '../../../storage/vectors/real-seams.js';
import { temporaryFolder } from '../../../support/daemon-process.js';

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder('model');
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

const WHOLE = {
  'onnx/model.onnx': 'bytes',
  'tokenizer.json': '{}',
  'config.json': '{"hidden_size":384,"max_position_embeddings":512}',
  'sentence_bert_config.json': '{"max_seq_length":256}',
  '1_Pooling/config.json': '{"pooling_mode_cls_token":true}',
};

describe('the folder of a model', () => {
  it('says what the model is', () => {
    const read = readModelFolder(folderWith(WHOLE));
    assert.ok(read.ok);
    const { dim, tokens, pooling } = read.value;
    assert.deepEqual([dim, tokens, pooling], [384, 256, 'cls']);
  });

  it('without a part of it is refused with what is missing', () => {
    for (const [missing, reason] of [
      ['onnx/model.onnx', /has no model\.onnx/],
      ['tokenizer.json', /has no tokenizer\.json/],
      ['config.json', /has no config\.json/],
    ] as const) {
      const rest = Object.fromEntries(Object.entries(WHOLE).filter(([name]) => name !== missing));
      const read = readModelFolder(folderWith(rest));
      assert.match(read.ok ? '' : read.error.message, reason);
    }
    const gone = readModelFolder('/no/such/folder');
    assert.match(gone.ok ? '' : gone.error.message, /does not exist/);
  });
});

describe('an embedder of a folder', () => {
  it('says which command installs its runtime', () => {
    const home = temporaryFolder('runtime');
    const opened = openOnnxEmbedder(
      { home, embedModelFolder: folderWith(WHOLE), embedDim: null },
      { clock: realClock, scheduler: realScheduler, log: recordingLog() },
    );
    assert.ok(!opened.ok);
    assert.ok(
      opened.error.message.includes(
        `npm install --prefix ${join(home, 'onnx')} onnxruntime-node@1 @huggingface/tokenizers@0`,
      ),
      opened.error.message,
    );
  });
});
