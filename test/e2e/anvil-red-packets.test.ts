/** Red packets on a real node: built and sent over the API, indexed from the contract's events, read over REST. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type Address,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseEther,
  parseTransaction,
} from 'viem'
import type { RedPacket, RedPacketClaim } from '../../schemas/api/red-packet.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { type AnvilStack, startAnvilStack } from '../support/anvil-stack.ts'
import type { AppStack } from '../support/app-stack.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { createDeployer } from '../support/nodes/contract-deployer.ts'
import { deployRedPackets, RED_PACKETS_ABI } from '../support/nodes/red-packets.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { callWithSdk, fetchSdk } from '../support/python-clients.ts'
import { until } from '../support/until.ts'

const ZERO: Address = `0x${'0'.repeat(40)}`
const TOKEN_ABI = parseAbi(['function balanceOf(address) view returns (uint256)'])
const creator = devAccount(0)
const creatorAddress = creator.address.toLowerCase()

let anvil: Anvil
let contract: Address
let token: Address
let stack: AnvilStack
let product: AppStack

before(async () => {
  anvil = await startAnvil()
  contract = await deployRedPackets(anvil.client)
  const deployer = createDeployer(anvil.client, { token: '@uniswap/v2-core/build/ERC20.json' })
  token = await deployer.deploy('token', ['uint256'], [parseEther('1000000')])
  const factory = contract.toLowerCase()
  stack = await startAnvilStack(anvil, {
    extra: {
      factories: [{ protocol: 'red_packets', factory }],
      quotes: [],
      referencePools: [],
      replace: false,
    },
    overrides: { chainRpcUrls: { eth: [anvil.httpUrl] }, feeds: ['red-packets'] },
  })
  product = stack.product
})
after(async () => {
  await stack.stop()
  await anvil.stop()
})

type Body = Readonly<Record<string, unknown>>

const post = async (path: string, body: object) => {
  const answer = await fetch(`${product.app.baseUrl}/v2/redpacket/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': product.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { status, headers } = answer
  return { status, headers, body: (await answer.json()) as Body }
}
const refusal = async (path: string, body: object): Promise<readonly unknown[]> => {
  const { status, body: problem } = await post(path, body)
  return [status, problem.code]
}

/** Builds, signs, sends and waits for the block. */
const act = async (path: string, body: object, by = creator): Promise<Body> => {
  const built = await post(path, body)
  assert.equal(built.status, 200, JSON.stringify(built.body))
  const bytes = Buffer.from(String(built.body.txSerialize), 'base64')
  const hex: Hex = `0x${bytes.toString('hex')}`
  assert.equal(hex, built.body.txHex)
  const parsed = parseTransaction(hex)
  assert.deepEqual([parsed.r, parsed.to?.toLowerCase()], [undefined, contract.toLowerCase()])
  const signedTx = await by.signTransaction(parsed as never)
  const sent = await post('eth/send', { signedTx })
  assert.equal(sent.status, 200, JSON.stringify(sent.body))
  const hash = sent.body.signature as Hex
  const receipt = await until(() => anvil.client.getTransactionReceipt({ hash }), 'it is mined')
  assert.equal(receipt.status, 'success')
  return built.body
}

/** Calls the contract without the API. */
const write = async (functionName: 'create' | 'claim' | 'refund', args: unknown, by = creator) => {
  const data = encodeFunctionData({ abi: RED_PACKETS_ABI, functionName, args } as never)
  const hash = await anvil.client.sendTransaction({
    account: by,
    to: contract,
    data,
    gas: 500_000n,
  })
  return (await until(() => anvil.client.getTransactionReceipt({ hash }), 'it is mined')).status
}

const caughtUp = (): Promise<void> => stack.caughtUp()
const packet = (id: string): Promise<RedPacket> => product.rest(`/v2/redpacket/${id}`)
const claims = (path: string) =>
  product.rest<{ readonly total: number; readonly records: readonly RedPacketClaim[] }>(
    `/v2/redpacket/${path}/claims`,
  )
const stored = (packetId: string) =>
  anvil.client.readContract({
    address: contract,
    abi: RED_PACKETS_ABI,
    functionName: 'packets',
    args: [packetId as Hex],
  })
/** What the API says of a packet is what the contract holds. */
const assertAsStored = async (id: string): Promise<RedPacket> => {
  const said = await packet(id)
  const [, expiresAt, maxClaims, claimed, , , , remaining] = await stored(said.id)
  const { records, total } = await claims(id)
  assert.deepEqual(
    [said.maxClaims, said.claimedCount, total, said.expiredAt],
    [maxClaims, claimed, claimed, Number(expiresAt) * 1_000],
  )
  const sum = records.reduce((all, { amount }) => all + BigInt(amount), 0n)
  assert.equal(said.claimedAmount, sum.toString())
  const paidOut = sum + BigInt(said.refundedAmount)
  assert.equal(BigInt(said.totalAmount) - paidOut, remaining)
  return said
}

const advance = async (seconds: number): Promise<void> => {
  await anvil.client.increaseTime({ seconds })
  await anvil.client.mine({ blocks: 1 })
  await caughtUp()
}

test('a random red packet of the native token with a password is claimed with that password only, once by each wallet', async () => {
  const total = parseEther('123.456789012345678901')
  const terms = { creator: creatorAddress, mint: CHAINS.eth.wrappedNative, maxClaims: 3 }
  const { shareId, packetId } = await act('eth/create', {
    ...terms,
    totalAmount: total.toString(),
    password: 'sésame',
    memo: 'Happy new year',
  })
  await caughtUp()
  const created = await packet(String(shareId))
  assert.deepEqual(await packet(String(packetId)), created)
  assert.deepEqual(
    {
      ...created,
      txHash: '',
      claimAuthority: typeof created.claimAuthority,
      createdAt: 0,
      expiredAt: 0,
    },
    {
      chain: 'eth',
      id: packetId,
      shareId,
      txHash: '',
      creator: creatorAddress,
      mint: CHAINS.eth.wrappedNative,
      totalAmount: total.toString(),
      memo: 'Happy new year',
      maxClaims: 3,
      claimAuthority: 'string',
      expired: false,
      expiration: 86_400,
      createdAt: 0,
      expiredAt: 0,
      claimedCount: 0,
      claimedAmount: '0',
      refundedAmount: '0',
      status: 'active',
      mode: 'random',
    },
  )
  for (const index of [1, 2, 3]) {
    const by = devAccount(index)
    const claim = { claimer: by.address, shareId }
    assert.deepEqual(await refusal('eth/claim', claim), [403, 403])
    assert.deepEqual(await refusal('eth/claim', { ...claim, password: 'open' }), [403, 403])
    await act('eth/claim', { ...claim, password: 'se\u0301same' }, by)
    // The store may not have it yet: then the node says so.
    const again = { claimer: by.address, packetId, password: 'sésame' }
    if (index < 3) assert.deepEqual(await refusal('eth/claim', again), [409, 51003])
    await caughtUp()
    if (index < 3) assert.deepEqual(await refusal('eth/claim', again), [409, 51003])
  }
  const said = await assertAsStored(String(shareId))
  assert.deepEqual(
    [said.status, said.claimedAmount, said.expired],
    ['exhausted', total.toString(), false],
  )
  const late = { claimer: devAccount(4).address, packetId, password: 'sésame' }
  assert.deepEqual(await refusal('eth/claim', late), [410, 51002])
  // Version 1 prints a number with every digit.
  const { baseUrl } = product.app
  const headers = { 'x-api-key': product.apiKey }
  for (const path of ['/redpacket', '/v1/redpacket']) {
    const answer = await fetch(`${baseUrl}${path}/${shareId}`, { headers })
    assert.match(await answer.text(), new RegExp(`"claimedAmount":${total}[,}]`))
  }
})

test('wrong passwords are limited; right ones are not counted', async () => {
  const terms = { creator: creatorAddress, mint: ZERO, maxClaims: 9, fixedAmount: '7' }
  const { packetId } = await act('eth/create', { ...terms, password: 'a' })
  await caughtUp()
  const claim = { claimer: devAccount(1).address, packetId }
  for (const password of ['b', 'c', 'd', 'e', 'f']) {
    assert.equal((await post('eth/claim', { ...claim, password: 'a' })).status, 200)
    assert.deepEqual(await refusal('eth/claim', { ...claim, password }), [403, 403])
  }
  assert.deepEqual(await refusal('eth/claim', { ...claim, password: 'a' }), [429, 429])
  const { headers } = await post('eth/claim', { ...claim, password: 'a' })
  const waitSeconds = Number(headers.get('retry-after'))
  assert.ok(waitSeconds > 30 && waitSeconds <= 60, `${waitSeconds} s`)
})

test("a red packet of a token, claimed with an authority's signature, expires and is refunded", async () => {
  const authority = devAccount(8)
  const body = {
    creator: creatorAddress,
    mint: token,
    maxClaims: 4,
    fixedAmount: '1000',
    claimAuthority: authority.address,
    expiration: 600,
  }
  const built = await post('eth/create', body)
  assert.equal(built.status, 200, JSON.stringify(built.body))
  const approval = built.body.approval as { readonly data: Hex; readonly spender: string }
  assert.equal(approval.spender, contract.toLowerCase())
  assert.equal(built.body.simulated, false)
  const hash = await anvil.client.sendTransaction({ to: token, data: approval.data })
  await anvil.client.waitForTransactionReceipt({ hash })
  const { packetId, ...rest } = await act('eth/create', body)
  assert.deepEqual([rest.approval, rest.simulated], [undefined, true])
  await caughtUp()
  const by = devAccount(5)
  const claim = { claimer: by.address, packetId }
  const denied = await post('eth/claim', claim)
  const { message } = denied.body.details as { readonly message: Hex }
  assert.equal(denied.status, 403)
  const stranger = await devAccount(9).signMessage({ message: { raw: message } })
  assert.deepEqual(await refusal('eth/claim', { ...claim, signature: stranger }), [403, 403])
  const signature = await authority.signMessage({ message: { raw: message } })
  await act('eth/claim', { ...claim, signature }, by)
  assert.equal(await write('claim', [packetId, signature], by), 'reverted', 'on the chain as well')
  assert.equal(
    await anvil.client.readContract({
      address: token,
      abi: TOKEN_ABI,
      functionName: 'balanceOf',
      args: [by.address],
    }),
    1_000n,
  )
  assert.equal(await write('refund', [packetId]), 'reverted', 'not before its end')
  await caughtUp()
  const open = await assertAsStored(String(packetId))
  assert.deepEqual([open.status, open.mode, open.claimedCount], ['active', 'equal', 1])
  await advance(601)
  const ended = await until(async () => {
    const said = await packet(String(packetId))
    return said.status === 'expired' && said
  }, 'the packet has expired without an event of its own')
  assert.deepEqual([ended.expired, ended.refundedAmount], [true, '0'])
  const late = { claimer: devAccount(6).address, packetId, signature }
  assert.deepEqual(await refusal('eth/claim', late), [410, 51002])
  assert.equal(await write('refund', [packetId], devAccount(6)), 'success', 'whoever asks')
  await caughtUp()
  const gone = await assertAsStored(String(packetId))
  assert.deepEqual(
    [gone.status, gone.expired, gone.refundedAmount, gone.claimedAmount],
    ['withdrawn', true, '3000', '1000'],
  )
})

test('a reorg reverts claims, and the API returns the packet as the contract has it', async () => {
  const terms = { creator: creatorAddress, mint: ZERO, maxClaims: 5, totalAmount: '1000000' }
  const { packetId } = await act('eth/create', terms)
  await caughtUp()
  await act('eth/claim', { claimer: devAccount(1).address, packetId }, devAccount(1))
  await caughtUp()
  for (const index of [2, 3])
    await act('eth/claim', { claimer: devAccount(index).address, packetId }, devAccount(index))
  await caughtUp()
  const before = await assertAsStored(String(packetId))
  await anvil.client.request({ method: 'anvil_reorg' as never, params: [2, []] as never })
  await anvil.client.mine({ blocks: 1 })
  await caughtUp()
  const after = await until(async () => {
    const said = await packet(String(packetId))
    return said.claimedCount === before.claimedCount - 2 && said
  }, 'two claims are gone')
  assert.ok(BigInt(after.claimedAmount) < BigInt(before.claimedAmount))
  await assertAsStored(String(packetId))
})

test('lists and wallets hold exactly what the contract did', async () => {
  for (let nth = 0; nth < 4; nth += 1) {
    const terms = {
      creator: creatorAddress,
      mint: ZERO,
      maxClaims: 6,
      totalAmount: `${97 * (nth + 1)}`,
    }
    const { packetId } = await act('eth/create', terms)
    await caughtUp()
    for (let index = 1; index <= 2 + nth; index += 1) {
      assert.equal(await write('claim', [packetId, '0x'], devAccount(index)), 'success')
    }
  }
  await caughtUp()
  interface Packets {
    readonly records: readonly RedPacket[]
    readonly total: number
    readonly endCursor: string | null
    readonly hasNextPage: boolean
  }
  const all: RedPacket[] = []
  for (let cursor = ''; ; ) {
    const page = await product.rest<Packets>(`/v2/redpacket?limit=3${cursor}`)
    all.push(...page.records)
    if (!page.hasNextPage) {
      assert.equal(page.total, all.length)
      break
    }
    cursor = `&cursor=${page.endCursor}`
  }
  const times = all.map(({ createdAt }) => createdAt)
  assert.deepEqual(
    times,
    times.toSorted((one, other) => other - one),
  )
  for (const { id } of all) await assertAsStored(id)
  const own = await product.rest<Packets>(
    `/v2/redpacket/wallet/${creator.address}/redpackets?limit=100`,
  )
  assert.deepEqual(own.records, all)
  const claimer = devAccount(1).address.toLowerCase()
  const { records, total } = await claims(`wallet/${claimer}`)
  const expected = (await Promise.all(all.map(({ id }) => claims(id)))).flatMap((page) =>
    page.records.filter((claim) => claim.claimer === claimer),
  )
  assert.equal(total, expected.length)
  const ids = (list: readonly RedPacketClaim[]) => list.map(({ packetId }) => packetId).toSorted()
  assert.deepEqual(ids(records), ids(expected))
  for (const claim of records)
    assert.deepEqual([claim.creator, claim.chain], [creatorAddress, 'eth'])
  const none = await product.rest<Packets>('/v2/redpacket?chain=bsc')
  assert.deepEqual([none.records, none.total], [[], 0])
})

const firstOf = (page: Body | undefined): Body | undefined =>
  (page?.records as readonly Body[] | undefined)?.[0]

const sdk = await tryStart("the reference API's SDK for Python", async () => {
  await fetchSdk()
  return true
})

if (sdk)
  test("the reference API's own SDK creates, sends, claims and reads", async () => {
    const server = { baseUrl: product.app.baseUrl, apiKey: product.apiKey }
    const call = (...calls: readonly (readonly [string, Readonly<Record<string, unknown>>])[]) =>
      callWithSdk(
        server,
        calls.map(([name, given]) => ['RedPacketApi', name, given]),
      )
    const send = async (built: Body | undefined, by: typeof creator) => {
      const hex: Hex = `0x${Buffer.from(String(built?.txSerialize), 'base64').toString('hex')}`
      const signedTx = await by.signTransaction(parseTransaction(hex) as never)
      const given = { chain: 'eth', red_packet_send_tx_request: { signedTx } }
      const [sent] = await call(['redpacket_send', given])
      const hash = sent?.signature as Hex
      await until(() => anvil.client.getTransactionReceipt({ hash }), 'it is mined')
      await caughtUp()
    }
    const terms = { creator: creatorAddress, mint: ZERO, maxClaims: 2, totalAmount: '1000' }
    const [created] = await call([
      'create_redpacket',
      { chain: 'eth', create_red_packet_request: terms },
    ])
    await send(created, creator)
    const id = created?.shareId
    const claimer = devAccount(1).address.toLowerCase()
    const claim = { chain: 'eth', claim_red_packet_request: { claimer, shareId: id } }
    const [claimed] = await call(['claim_redpacket', claim])
    await send(claimed, devAccount(1))
    const [one, all, ofPacket, ofClaimer, ofCreator] = await call(
      ['get_redpacket', { id }],
      ['get_redpackets', { limit: 1 }],
      ['get_claims', { id }],
      ['get_claims_by_address', { address: claimer, limit: 1 }],
      ['get_redpackets_by_address', { address: creatorAddress, limit: 1 }],
    )
    const { status: _status, mode: _mode, ...said } = await packet(String(id))
    const known = Object.entries(said).filter(([, value]) => value !== null)
    assert.deepEqual(one, Object.fromEntries(known.toSorted(([a], [b]) => (a < b ? -1 : 1))))
    assert.deepEqual([one.claimedCount, one.totalAmount], [1, '1000'])
    assert.deepEqual(firstOf(all), one)
    assert.deepEqual(firstOf(ofCreator), one)
    const row = firstOf(ofPacket)
    assert.deepEqual([row?.amount, row?.claimer], [one.claimedAmount, claimer])
    assert.deepEqual(firstOf(ofClaimer), row)
  })

test('requests that cannot be met are refused with their reason', async () => {
  const terms = { creator: creatorAddress, mint: ZERO, maxClaims: 3 }
  const claimer = devAccount(1).address
  const cases: readonly (readonly [string, object, readonly unknown[]])[] = [
    ['eth/create', terms, [400, 40013]],
    ['eth/create', { ...terms, totalAmount: '9', fixedAmount: '9' }, [400, 40013]],
    ['eth/create', { ...terms, totalAmount: '-1' }, [400, 40014]],
    ['eth/create', { ...terms, totalAmount: '1.5' }, [400, 40014]],
    ['eth/create', { ...terms, totalAmount: '0' }, [400, 40015]],
    ['eth/create', { ...terms, totalAmount: '2' }, [400, 40015]],
    ['eth/create', { ...terms, Expiration: 60 }, [400, 40001]],
    ['eth/create', { ...terms, fixedAmount: (2n ** 255n).toString() }, [400, 40016]],
    ['eth/create', { ...terms, totalAmount: parseEther('999999').toString() }, [422, 50017]],
    ['eth/create', { ...terms, totalAmount: '9', maxClaims: 101 }, [400, 40002]],
    ['eth/create', { ...terms, totalAmount: '9', expiration: 59 }, [400, 40002]],
    ['eth/create', { ...terms, totalAmount: '9', memo: 'é'.repeat(129) }, [400, 40002]],
    ['eth/create', { ...terms, totalAmount: '9', mint: 'x' }, [400, 40009]],
    ['eth/create', { ...terms, totalAmount: '9', creator: 'x' }, [400, 40005]],
    [
      'eth/create',
      { ...terms, totalAmount: '9', password: 'a', claimAuthority: claimer },
      [400, 40002],
    ],
    ['sol/create', { ...terms, totalAmount: '9' }, [501, 40024]],
    ['bsc/create', { ...terms, totalAmount: '9' }, [400, 50008]],
    ['mars/create', { ...terms, totalAmount: '9' }, [404, 40405]],
    ['eth/claim', { claimer }, [400, 51000]],
    ['eth/claim', { claimer, shareId: 'abcdefghij' }, [404, 51001]],
    ['eth/claim', { claimer, packetId: '../x' }, [404, 51001]],
    ['eth/claim', { claimer: 'x', shareId: 'abcdefghij' }, [400, 40005]],
    ['eth/send', { signedTx: 'AAAA' }, [400, 40002]],
    ['sol/send', { signedTx: 'AAAA' }, [400, 50008]],
    ['sui/send', { signedTx: 'AAAA' }, [501, 40024]],
  ]
  for (const [path, body, expected] of cases) {
    assert.deepEqual(await refusal(path, body), expected, `${path} ${JSON.stringify(body)}`)
  }
})
