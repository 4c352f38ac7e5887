import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressBucket, clientAddress } from '../../core/client-address.ts'

const PROXIES = ['10.0.0.0/8', 'fd00::/8']

test('the peer is the client unless it is a trusted proxy', () => {
  const cases: readonly (readonly [string, string | undefined, readonly string[], string])[] = [
    ['203.0.113.9', '198.51.100.1', [], '203.0.113.9'],
    ['203.0.113.9', '198.51.100.1', PROXIES, '203.0.113.9'],
    ['10.1.1.1', '198.51.100.1', PROXIES, '198.51.100.1'],
    ['::ffff:10.1.1.1', '198.51.100.1', PROXIES, '198.51.100.1'],
    ['fd00::1', '2001:db8::7', PROXIES, '2001:db8::7'],
    ['10.1.1.1', undefined, PROXIES, '10.1.1.1'],
    ['10.1.1.1', '', PROXIES, '10.1.1.1'],
    // What the client wrote itself stands before what the proxies added, and is not used.
    ['10.1.1.1', '127.0.0.1, 198.51.100.1', PROXIES, '198.51.100.1'],
    ['10.1.1.1', '198.51.100.1, 10.2.2.2', PROXIES, '198.51.100.1'],
    ['10.1.1.1', '127.0.0.1, 198.51.100.1 , 10.2.2.2,10.3.3.3', PROXIES, '198.51.100.1'],
    ['10.1.1.1', '198.51.100.1:4711', PROXIES, '198.51.100.1'],
    ['10.1.1.1', '[2001:db8::7]:4711', PROXIES, '2001:db8::7'],
    ['10.1.1.1', 'rubbish, 10.2.2.2', PROXIES, '10.2.2.2'],
    ['10.1.1.1', '0x7f.1', PROXIES, '10.1.1.1'],
    ['10.1.1.1', '1.2.3.4, <script>', PROXIES, '10.1.1.1'],
    ['not an address', '198.51.100.1', PROXIES, 'not an address'],
  ]
  for (const [peer, forwardedFor, trusted, expected] of cases) {
    assert.equal(clientAddress(peer, forwardedFor, trusted), expected, `${peer} | ${forwardedFor}`)
  }
})

test('IPv4 addresses are limited one by one, IPv6 addresses by their /64', () => {
  assert.equal(addressBucket('203.0.113.9'), '203.0.113.9')
  assert.equal(addressBucket('::ffff:203.0.113.9'), '203.0.113.9')
  assert.equal(addressBucket('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(addressBucket('2001:0db8:0001:0002:ffff::1'), '2001:db8:1:2::/64')
  assert.notEqual(addressBucket('2001:db8:1:3::1'), addressBucket('2001:db8:1:2::1'))
  assert.equal(addressBucket('no address'), 'no address')
})
