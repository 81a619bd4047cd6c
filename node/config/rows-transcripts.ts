import { publicKeyFromText } from '../../protocol/base/key-text.js';
import {
  ARCHIVE_GRACE_SECONDS,
  DECOMPRESSED_BYTES_MAX,
  TRANSCRIPT_TTL_SECONDS,
  TRANSCRIPT_TTL_SECONDS_MAX,
} from '../../protocol/transcripts/limits.js';
import type { SettingRows } from './setting-row.js';
import { transcriptLifeOf } from './transcript-life.js';

const keysProblem = (list: string) =>
  list.split(',').every((key) => key === '' || publicKeyFromText(key) !== null)
    ? null
    : 'must hold public keys of 32 bytes in base64';

/** Transcripts of the turns of hosts. */
export const TRANSCRIPT_ROWS = {
  transcriptTtlSeconds: {
    type: 'integer',
    default: TRANSCRIPT_TTL_SECONDS,
    unit: 's',
    min: 1,
    max: TRANSCRIPT_TTL_SECONDS_MAX,
    config: 'transcripts.default_ttl_secs',
    doc: 'How long a transcript is kept; one whose memory is still there stays.',
  },
  transcriptGraceSeconds: {
    type: 'integer',
    default: ARCHIVE_GRACE_SECONDS,
    unit: 's',
    min: 0,
    max: TRANSCRIPT_TTL_SECONDS_MAX,
    config: 'transcripts.archive_grace_secs',
    doc: 'How long an archived transcript is kept, of which no memory is left.',
  },
  transcriptDecompressedMax: {
    type: 'integer',
    default: DECOMPRESSED_BYTES_MAX,
    unit: 'bytes',
    min: 1024,
    max: DECOMPRESSED_BYTES_MAX,
    config: 'transcripts.max_decompressed_bytes',
    doc: 'Longest text of a turn or an offloaded content that is taken, and that is decompressed.',
  },
  transcriptNamespaces: {
    type: 'tables',
    named: 'pattern',
    default: [],
    config: 'transcripts.namespaces',
    parse: transcriptLifeOf,
    doc: 'Other times for namespaces, each a section `[transcripts.namespaces."<pattern>"]` with `default_ttl_secs` and `archive_grace_secs`. A name goes before `prefix/*`, the longest prefix first, and that before `*`.',
  },
  hostPubkeys: {
    type: 'list',
    default: [],
    env: 'SVC_L4_HOST_PUBKEY_ALLOWLIST',
    check: keysProblem,
    doc: 'Public keys of the hosts whose signatures of turns count, in base64.',
  },
  captureNagThreshold: {
    type: 'integer',
    default: 5,
    unit: 'calls',
    min: 0,
    max: 1_000_000,
    env: 'SVC_CAPTURE_NAG_THRESHOLD',
    doc: 'Calls of an MCP session without a write after which its answer reminds the agent to capture; 0 never does.',
  },
  captureNagEscalateThreshold: {
    type: 'integer',
    default: 20,
    unit: 'calls',
    min: 0,
    max: 1_000_000,
    env: 'SVC_CAPTURE_NAG_ESCALATE_THRESHOLD',
    doc: 'The same for a second, stronger reminder.',
  },
} as const satisfies SettingRows;
