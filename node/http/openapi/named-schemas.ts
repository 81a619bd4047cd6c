import type { z } from 'zod';
import { actionOutput, edgeOutput } from '../../operations/coordination/action-fields.js';
import { signalOutput } from '../../operations/coordination/signal-fields.js';
import { attachedStandard } from '../../operations/core/attached-standards.js';
import { recalledMemory } from '../../operations/core/memory-recall.js';
import {
  governance,
  shownStandard,
  standardOutput,
} from '../../operations/governance/memory-namespace-standard.js';
import { subscriptionOutput } from '../../operations/governance/subscriptions.js';
import { relation } from '../../operations/graph/link-fields.js';
import { shownFigures } from '../../operations/shared/recall-figures.js';
import * as fields from '../../pipeline/fields.js';

/** The parts of inputs and answers that have a name of their own in the API description, by name. */
export const NAMED_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  Memory: fields.memoryOutput,
  RecalledMemory: recalledMemory,
  Tier: fields.tier,
  MemoryKind: fields.kind,
  Scope: fields.scope,
  Relation: relation,
  AnswerFormat: fields.format,
  PictureFormat: fields.pictureFormat,
  Citations: fields.citations,
  SourceSpan: fields.sourceSpan,
  NearDuplicates: fields.nearDuplicates,
  Action: actionOutput,
  ActionEdge: edgeOutput,
  Signal: signalOutput,
  Subscription: subscriptionOutput,
  NamespaceCount: fields.namespaceCount,
  NamespaceStandard: shownStandard,
  NamespaceStandards: standardOutput,
  NamespacePolicy: governance,
  AttachedStandard: attachedStandard,
  RecallFigures: shownFigures,
};
