/**
 * The settings of a node (interface §2.12, decisions "Names and places"). Each is one row of a section. The
 * settings object, the defaults, the readers of flags, variables and files, and the documentation come from the rows.
 */
import { join } from 'node:path';
import { AUDIT_ROWS } from './rows-audit.js';
import { CALLER_ROWS } from './rows-callers.js';
import { CONFIDENCE_ROWS } from './rows-confidence.js';
import { CURATOR_ROWS } from './rows-curator.js';
import { ENCRYPTION_ROWS } from './rows-encryption.js';
import { FEDERATION_ROWS } from './rows-federation.js';
import { GATE_ROWS } from './rows-gates.js';
import { LIFE_ROWS } from './rows-life.js';
import { LOGGING_ROWS } from './rows-logging.js';
import { MESH_ROWS } from './rows-mesh.js';
import { MODEL_ROWS } from './rows-models.js';
import { PLACE_ROWS } from './rows-places.js';
import { SCORING_ROWS } from './rows-scoring.js';
import { SECRET_ROWS } from './rows-secrets.js';
import { SERVICE_ROWS } from './rows-service.js';
import { SESSION_ROWS } from './rows-sessions.js';
import { TELEMETRY_ROWS } from './rows-telemetry.js';
import { TLS_ROWS } from './rows-tls.js';
import { TRANSCRIPT_ROWS } from './rows-transcripts.js';
import { defaultOf, type SettingRow, type SettingsOf } from './setting-row.js';

/** In the order of the documentation. */
const SECTIONS = [
  PLACE_ROWS,
  CALLER_ROWS,
  SERVICE_ROWS,
  LOGGING_ROWS,
  TELEMETRY_ROWS,
  AUDIT_ROWS,
  LIFE_ROWS,
  CONFIDENCE_ROWS,
  SCORING_ROWS,
  MODEL_ROWS,
  CURATOR_ROWS,
  SESSION_ROWS,
  TRANSCRIPT_ROWS,
  FEDERATION_ROWS,
  GATE_ROWS,
  SECRET_ROWS,
  ENCRYPTION_ROWS,
  TLS_ROWS,
  MESH_ROWS,
] as const;

type Merged<Sections> = Sections extends readonly [infer First, ...infer Rest]
  ? First & Merged<Rest>
  : unknown;

/** The settings as the program holds them. */
export interface Settings extends SettingsOf<Merged<typeof SECTIONS>> {
  /** True when the operator set it, so routes without a signature refuse as well (decisions, "which routes"). */
  readonly requireAttestationEverywhere: boolean;
  /** The file of hooks, beside the configuration file. */
  readonly hooksPath: string;
  /** The environment of the programs of hooks: nothing that could hold a secret. */
  readonly hookEnvironment: Readonly<Record<string, string>>;
}

/** A row with its name in the program. */
export type Setting = SettingRow & { readonly key: keyof SettingsOf<Merged<typeof SECTIONS>> };

/** Every setting, in the order of the documentation. */
export const SETTINGS: readonly Setting[] = SECTIONS.flatMap((section) =>
  Object.entries<SettingRow>(section).map(([key, row]) => ({ ...row, key }) as Setting),
);

/** The settings of a home in which nothing is configured. */
export function defaultsIn(home: string): Settings {
  const rows = Object.fromEntries(SETTINGS.map((row) => [row.key, defaultOf(row, home)]));
  const hooks = { hooksPath: join(home, 'hooks.toml'), hookEnvironment: {} };
  return { ...rows, home, requireAttestationEverywhere: false, ...hooks } as Settings;
}
