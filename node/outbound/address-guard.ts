import { BlockList, isIP, isIPv4 } from 'node:net';
import { SUBSCRIPTION_URL_BYTES_MAX } from '../../protocol/base/limits.js';
import { utf8Bytes } from '../../protocol/base/utf8.js';

/** Why an address may not be called; null for one that may. */
export type Refusal = string | null;

/** Addresses that belong to no public host (IANA special-purpose registries), without loopback. */
const RESERVED_V4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
];

/** The only IPv6 addresses of public hosts, and what is reserved or carries IPv4 addresses among them. */
const GLOBAL_V6 = '2000::/3';
const RESERVED_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

const listOf = (family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const range of ranges) {
    const [net, bits] = range.split('/') as [string, string];
    list.addSubnet(net, Number(bits), family);
  }
  return list;
};

const LOOPBACK_V4 = listOf('ipv4', ['127.0.0.0/8']);
const REFUSED_V4 = listOf('ipv4', RESERVED_V4);
const ACCEPTED_V6 = listOf('ipv6', [GLOBAL_V6]);
const REFUSED_V6 = listOf('ipv6', RESERVED_V6);

/** True for an address of this machine, in its plain form. */
const isLoopback = (address: string): boolean =>
  isIPv4(address) ? LOOPBACK_V4.check(address) : address === '::1';

/** Checks one address that a connection would go to. Forms of IPv6 that carry an IPv4 address are refused as such. */
export function addressRefusal(address: string, allowsLoopback: boolean): Refusal {
  if (isIP(address) === 0 || address.includes('%')) return `${address} is no plain address`;
  if (isLoopback(address)) {
    return allowsLoopback ? null : `${address} is this machine; SVC_ALLOW_LOOPBACK_WEBHOOKS=1 permits it`;
  }
  const isPublic = isIPv4(address)
    ? !REFUSED_V4.check(address)
    : ACCEPTED_V6.check(address, 'ipv6') && !REFUSED_V6.check(address, 'ipv6');
  return isPublic ? null : `${address} is not a public address`;
}

/** Names that mean this machine wherever they are resolved. */
const isLoopbackName = (name: string): boolean =>
  /^(?:(?:.+\.)?localhost|localhost\.localdomain|ip6-localhost|ip6-loopback)$/.test(name);

/** The host of an address as a connection names it: without brackets and without the final dot. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');

/** Checks the address of a receiver as text; what its name resolves to is checked at each delivery. */
export function urlRefusal(text: string, allowsLoopback: boolean): Refusal {
  if (utf8Bytes(text) > SUBSCRIPTION_URL_BYTES_MAX) {
    return `the address is longer than ${SUBSCRIPTION_URL_BYTES_MAX} bytes`;
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return 'the address is not a URL';
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'the address must begin with https://';
  if (url.username !== '' || url.password !== '') return 'the address must not hold a user or a password';
  const host = hostOf(url);
  if (host === '') return 'the address names no host';
  const isHere = isLoopbackName(host) || (isIP(host) !== 0 && isLoopback(host));
  if (isHere && !allowsLoopback) {
    return 'the address is this machine; SVC_ALLOW_LOOPBACK_WEBHOOKS=1 permits it';
  }
  if (isIP(host) !== 0) {
    const refusal = addressRefusal(host, allowsLoopback);
    if (refusal !== null) return refusal;
  }
  return url.protocol === 'http:' && !isHere ? 'the address must begin with https://' : null;
}
