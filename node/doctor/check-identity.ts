import { agentIdProblem } from '../../protocol/base/ids.js';
import type { Settings } from '../config/settings.js';
import { type Section, SectionBuilder } from './report.js';

/** Checks the identity of this process, and the admins of the node (interface §5.3, §5.4). */
export function checkIdentity(settings: Settings): Section {
  const { adminAgentIds, adminHeaderTrust, apiKey, agentId } = settings;
  const section = new SectionBuilder('Identity and admin')
    .fact('agent id', agentId)
    .fact('admins', adminAgentIds.length)
    .fact('API key', apiKey === null ? 'none' : 'set');
  if (adminAgentIds.length === 0) {
    section.info(
      'ADMIN_SET_EMPTY',
      'there are no admins: the admin routes answer 403 to every caller',
      'list the admins in [admin] agent_ids or SVC_ADMIN_AGENT_IDS',
    );
  } else if (apiKey === null && !adminHeaderTrust) {
    section.warn(
      'ADMIN_WITHOUT_API_KEY',
      'admins are listed but no API key is set: X-Agent-Id is not trusted and the admin routes stay closed',
      'set SVC_API_KEY, or SVC_ADMIN_HEADER_TRUST=1 on an isolated machine',
    );
  }
  if (adminHeaderTrust && apiKey === null) {
    section.warn(
      'ADMIN_HEADER_TRUST',
      'any client that reaches the node can claim to be an admin',
      'set SVC_API_KEY and unset SVC_ADMIN_HEADER_TRUST',
    );
  }
  if (agentId !== null && agentIdProblem(agentId) !== null) {
    section.crit('AGENT_ID_INVALID', `SVC_AGENT_ID: ${agentIdProblem(agentId)}`, 'correct SVC_AGENT_ID');
  }
  return section.done();
}
