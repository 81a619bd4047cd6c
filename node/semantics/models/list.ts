import { resolve } from 'node:path';
import type { Settings } from '../../config/settings.js';
import { missingPackages } from '../onnx/runtime.js';
import { CATALOG } from './catalog.js';
import { installedModels } from './installed.js';

/** An encoder as `encoder list` shows it. */
export interface ListedEncoder {
  readonly name: string;
  readonly state: 'in use' | 'built in' | 'installed' | 'can be installed';
  readonly dim: number | null;
  readonly languages: string | null;
  readonly megabytes: number | null;
  readonly purpose: string | null;
  readonly folder: string | null;
  /** Why it cannot be used; null for one that can. */
  readonly problem: string | null;
}

type Chosen = Pick<Settings, 'home' | 'embedBackend' | 'embedModel' | 'embedModelFolder'>;

/** The encoders that are here and those that are known by name, the one that the settings choose first. */
export function listEncoders(settings: Chosen): {
  readonly encoders: readonly ListedEncoder[];
  readonly runtime: 'installed' | 'missing';
} {
  const { home, embedBackend, embedModel, embedModelFolder } = settings;
  const usedFolder = embedBackend === 'onnx' && embedModelFolder !== null ? resolve(embedModelFolder) : null;
  const installed = installedModels(home);
  const unknown = { languages: null, megabytes: null, purpose: null, folder: null, problem: null };
  const encoders: ListedEncoder[] = [
    {
      ...{ ...unknown, name: 'builtin', state: embedBackend === 'builtin' ? 'in use' : 'built in' },
      ...{ dim: 512, languages: 'sixteen', purpose: 'short notes; needs nothing' },
    },
    ...installed.map(({ name, folder, dim, problem }): ListedEncoder => {
      const { languages, megabytes, purpose } = CATALOG.find((model) => model.name === name) ?? unknown;
      const state = resolve(folder) === usedFolder ? 'in use' : 'installed';
      return { name, state, dim, languages, megabytes, purpose, folder, problem };
    }),
    ...CATALOG.filter(({ name }) => !installed.some((model) => model.name === name)).map(
      ({ name, dim, languages, megabytes, purpose }): ListedEncoder => ({
        ...{ ...unknown, name, state: 'can be installed' },
        ...{ dim, languages, megabytes, purpose },
      }),
    ),
  ];
  if (!encoders.some(({ state }) => state === 'in use') && embedBackend !== 'none') {
    const name = usedFolder ?? [embedBackend, embedModel].filter((part) => part !== null).join('/');
    encoders.unshift({ ...unknown, name, state: 'in use', dim: null, folder: usedFolder });
  }
  const isMissing = missingPackages(home).length > 0;
  return { encoders: encoders.sort(byState), runtime: isMissing ? 'missing' : 'installed' };
}

const ORDER: readonly ListedEncoder['state'][] = ['in use', 'built in', 'installed', 'can be installed'];
const byState = (a: ListedEncoder, b: ListedEncoder) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state);
