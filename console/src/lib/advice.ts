/** What a person can do about an error, by its stable code. */
const ADVICE: Readonly<Record<string, string>> = {
  UNAUTHORIZED: 'Enter the API key of this node (SVC_API_KEY).',
  AUTH_BACKOFF: 'Wait, then enter the right key.',
  ADMIN_REQUIRED:
    'Only an admin sees this: set an agent that SVC_ADMIN_AGENT_IDS names, at the top of the page.',
  FORBIDDEN: 'Set the agent that may do this, at the top of the page.',
  NOT_FOUND: 'It is gone, or this agent may not see it: check the agent at the top of the page.',
  CONFLICT: 'Somebody else changed it: read it again and repeat the change.',
  VERSION_CONFLICT: 'Somebody else changed it: read it again and repeat the change.',
  APPROVAL_PENDING: 'Somebody has to approve it first: see Approvals.',
  ATTESTATION_FAILED:
    'This node takes only signed writes: use mnemesh on the command line with the key of the agent, or set SVC_REQUIRE_AGENT_ATTESTATION=false.',
  VALIDATION_FAILED: 'Correct the named fields.',
  ROUTE_NOT_FOUND: 'This node is older than its console: load the page again.',
  OVERLOADED: 'The node is busy: try again in a moment.',
  SHUTTING_DOWN: 'The node is ending: try again when it runs.',
  UNAVAILABLE: 'Check that the node runs (mnemesh doctor), then try again.',
  DEADLINE: 'The node took too long: look at what was done before you repeat it.',
  INTERNAL: 'The log of the node says more (mnemesh doctor examines it).',
};

const GENERAL = 'Look at the message, correct the cause and try again.';

/** One sentence on what to do about an error. */
export const adviceOn = (code: string): string => ADVICE[code] ?? GENERAL;
