import type { Result } from '../../protocol/base/result.js';
import type { Question } from '../models/models.js';
import type { ReadCall } from './call.js';

/** Asks a chat model for a call, as long as its caller waits. */
export const askModel = <T>(
  { services, deadlineMs = Number.POSITIVE_INFINITY, gone }: ReadCall,
  question: Question<T>,
): Promise<Result<T>> => services.models.ask(question, { deadlineMs, signal: gone?.() });
