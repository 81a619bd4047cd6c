import type { Finding, Section, Severity } from '../pipeline/examination.js';

export type { Examination, Finding, Section, Severity } from '../pipeline/examination.js';

const ORDER: readonly Severity[] = ['INFO', 'WARN', 'CRIT'];

/** The worst of some severities; INFO for an empty list. */
export function worst(severities: readonly (Severity | 'N/A')[]): Severity {
  return ORDER[Math.max(0, ...severities.map((severity) => ORDER.indexOf(severity as Severity)))]!;
}

/** Collects the facts and findings of one section. */
export class SectionBuilder {
  private readonly facts: [string, string][] = [];
  private readonly findings: Finding[] = [];
  private notApplicable = false;

  constructor(private readonly name: string) {}

  fact(name: string, value: string | number | boolean | null): this {
    this.facts.push([name, value === null ? '-' : String(value)]);
    return this;
  }

  crit(code: string, message: string, fix: string): this {
    return this.add({ code, severity: 'CRIT', message, fix });
  }

  warn(code: string, message: string, fix: string): this {
    return this.add({ code, severity: 'WARN', message, fix });
  }

  info(code: string, message: string, fix = ''): this {
    return this.add({ code, severity: 'INFO', message, fix });
  }

  add(finding: Finding): this {
    this.findings.push(finding);
    return this;
  }

  /** The feature is not configured or does not exist yet. */
  unused(why: string): this {
    this.notApplicable = true;
    return this.fact('state', why);
  }

  done(): Section {
    const { name, facts, findings } = this;
    const severity = worst(findings.map((finding) => finding.severity));
    return {
      name,
      severity: this.notApplicable && severity === 'INFO' ? 'N/A' : severity,
      facts,
      findings,
    };
  }
}
