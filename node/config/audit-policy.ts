/** What a compliance preset demands; null leaves a demand as it is elsewhere. */
export interface AuditPreset {
  readonly preset: string;
  readonly applied: boolean;
  readonly retentionDays: number | null;
  readonly redacts: boolean;
  readonly attestMinutes: number | null;
  readonly encryptsAtRest: boolean;
  readonly pseudonymizes: boolean;
}

const PRESETS = ['soc2', 'hipaa', 'gdpr', 'fedramp'];
const SWITCHES = ['applied', 'redact_content', 'encrypt_at_rest', 'pseudonymize_actors'];
const NUMBERS = ['retention_days', 'attestation_cadence_minutes'];

/** The demands of a section `[audit.compliance.<name>]`, or what is wrong with it. */
export function auditPresetOf(table: Readonly<Record<string, unknown>>): AuditPreset | string {
  const { preset, ...given } = table;
  const name = String(preset).slice(0, 64);
  if (!PRESETS.includes(name)) return `"${name}" is no preset: they are ${PRESETS.join(', ')}`;
  for (const [key, value] of Object.entries(given)) {
    if (SWITCHES.includes(key)) {
      if (typeof value !== 'boolean') return `"${name}" needs true or false as ${key}`;
    } else if (NUMBERS.includes(key)) {
      if (!Number.isSafeInteger(value) || Number(value) < 1)
        return `"${name}" needs a whole number above 0 as ${key}`;
    } else return `"${name}" has the unknown key "${key.slice(0, 64)}"`;
  }
  const isOn = (key: string) => given[key] === true;
  const numberOf = (key: string) => (given[key] as number | undefined) ?? null;
  return {
    preset: name,
    applied: isOn('applied'),
    retentionDays: numberOf('retention_days'),
    redacts: isOn('redact_content'),
    attestMinutes: numberOf('attestation_cadence_minutes'),
    encryptsAtRest: isOn('encrypt_at_rest'),
    pseudonymizes: isOn('pseudonymize_actors'),
  };
}

/** How the audit log is written and kept. */
export interface AuditPolicy {
  readonly redacts: boolean;
  readonly pseudonymizes: boolean;
  readonly attestMinutes: number;
  readonly retentionDays: number;
}

interface AuditSettings {
  readonly auditRedacts: boolean;
  readonly auditAttestMinutes: number;
  readonly auditRetentionDays: number;
  readonly auditPresets: readonly AuditPreset[];
}

/** The strictest of the settings and of all presets that are applied: the longest keeping, the most frequent signature. */
export function auditPolicyOf(settings: AuditSettings): AuditPolicy {
  const applied = settings.auditPresets.filter((preset) => preset.applied);
  const numbers = (of: (preset: AuditPreset) => number | null) =>
    applied.flatMap((preset) => of(preset) ?? []);
  return {
    redacts: settings.auditRedacts || applied.some(({ redacts }) => redacts),
    pseudonymizes: applied.some(({ pseudonymizes }) => pseudonymizes),
    attestMinutes: Math.min(settings.auditAttestMinutes, ...numbers(({ attestMinutes }) => attestMinutes)),
    retentionDays: Math.max(settings.auditRetentionDays, ...numbers(({ retentionDays }) => retentionDays)),
  };
}
