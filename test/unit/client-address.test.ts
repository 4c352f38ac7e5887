import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bindScope,
  clientAddress,
  rateLimitAddress,
  toUrlHost,
} from '../../core/http/network-address.ts'

const PROXIES = ['10.0.0.0/8', 'fd00::/8', '127.0.0.1/32']

test('the client address is the right-most hop that is not a trusted proxy', () => {
  const cases: readonly (readonly [string, string | undefined, readonly string[], string])[] = [
    ['203.0.113.9', undefined, PROXIES, '203.0.113.9'],
    ['203.0.113.9', '198.51.100.1', PROXIES, '203.0.113.9'],
    ['203.0.113.9', '198.51.100.1', [], '203.0.113.9'],
    ['10.0.0.1', '198.51.100.1', [], '10.0.0.1'],
    ['10.0.0.1', undefined, PROXIES, '10.0.0.1'],
    ['10.0.0.1', '', PROXIES, '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1', PROXIES, '198.51.100.1'],
    ['::ffff:10.0.0.1', '198.51.100.1', PROXIES, '198.51.100.1'],
    ['10.0.0.1', '1.1.1.1, 198.51.100.1', PROXIES, '198.51.100.1'],
    ['10.0.0.1', '198.51.100.1,10.0.0.2 , 10.0.0.3', PROXIES, '198.51.100.1'],
    ['10.0.0.1', '10.0.0.2', PROXIES, '10.0.0.2'],
    ['10.0.0.1', '198.51.100.1, garbage, 10.0.0.2', PROXIES, '10.0.0.2'],
    ['10.0.0.1', '127.1', PROXIES, '10.0.0.1'],
    ['10.0.0.1', '0x7f000001', PROXIES, '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1:4711', PROXIES, '198.51.100.1'],
    ['fd00::1', '[2001:db8::7]:4711', PROXIES, '2001:db8::7'],
    ['fd00::1%eth0', '2001:db8::7', PROXIES, '2001:db8::7'],
    ['10.0.0.1', '::ffff:198.51.100.1', PROXIES, '198.51.100.1'],
    ['', '198.51.100.1', PROXIES, ''],
  ]
  for (const [peer, header, trusted, expected] of cases) {
    assert.equal(clientAddress(peer, header, trusted), expected, `${peer} <- ${header}`)
  }
})

test('a header of nothing but trusted proxies is walked for a bounded number of hops', () => {
  const header = ['198.51.100.1', ...Array.from({ length: 5_000 }, () => '10.0.0.2')].join(',')
  assert.equal(clientAddress('10.0.0.1', header, PROXIES), '10.0.0.2')
})

test('limits count whole IPv4 addresses and the first 64 bits of IPv6', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['198.51.100.1', '198.51.100.1'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['::ffff:c633:6401', '198.51.100.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['2001:db8:1:2::/64', '2001:db8:1:2::/64'],
    ['no address', 'no address'],
  ]
  for (const [address, bucket] of cases) assert.equal(rateLimitAddress(address), bucket)
})

test('hosts of listeners: loopback, wildcard, other', () => {
  for (const host of ['127.0.0.1', '127.8.0.1', '::1', '[::1]', 'localhost', '::ffff:127.0.0.1']) {
    assert.equal(bindScope(host), 'loopback', host)
  }
  for (const host of ['0.0.0.0', '::', '[::]', '0', '0:0:0:0:0:0:0:0', '::ffff:0.0.0.0']) {
    assert.equal(bindScope(host), 'wildcard', host)
  }
  for (const host of ['10.0.0.1', '192.168.1.1', 'db.internal', 'localhost.example']) {
    assert.equal(bindScope(host), 'other', host)
  }
})

test('URLs name hosts that a client can dial', () => {
  assert.deepEqual(
    ['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost', '2001:db8::1'].map(toUrlHost),
    ['127.0.0.1', '127.0.0.1', '[::1]', '[::1]', 'localhost', '[2001:db8::1]'],
  )
})
