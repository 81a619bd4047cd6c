import { type Failure, failure } from '../../../protocol/base/result.js';
import type { ModelFeature } from '../../models/features.js';
import type { ReadCall } from '../../pipeline/call.js';

/** Null while a chat model is configured for a feature, else the refusal of a tool that cannot do without one. */
export function tierLocked({ services }: ReadCall, feature: ModelFeature, tool: string): Failure | null {
  const missing = services.models.missing(feature);
  if (missing === null) return null;
  const message = `${tool} needs a chat model: ${missing.message}`;
  const { enabled, failing } = services.semantic.state();
  return failure('TIER_LOCKED', message, {
    ...{ 'tier-locked': message, current_tier: enabled && !failing ? 'semantic' : 'keyword' },
    required_tier: 'smart',
  });
}
