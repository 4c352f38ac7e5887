import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Hex } from 'viem'
import { type ApiResponse, callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { type Anvil, startAnvil } from '../support/nodes/anvil.ts'
import {
  type ContractWallet,
  contractWallet,
  deployWallet,
  ODD_CONTRACTS,
  undeployed,
} from '../support/nodes/contract-wallets.ts'
import { type FaultyNode, startFaultyNode } from '../support/nodes/faulty.ts'
import { until } from '../support/until.ts'
import {
  evmWallet,
  type MessageFields,
  signInMessage,
  signInToken,
  type TestWallet,
} from '../support/wallet-signer.ts'

const BASE_CHAIN_ID = '8453'
const NODE_TIMEOUT_MS = 2_000

let anvil: Anvil
let node: FaultyNode
let api: TestApi
before(async () => {
  anvil = await startAnvil(['--chain-id', BASE_CHAIN_ID])
  node = await startFaultyNode(anvil.httpUrl)
  api = await startApi({
    overrides: { chainRpcUrls: { base: [node.httpUrl] }, rpcTimeoutMs: NODE_TIMEOUT_MS },
  })
})
after(async () => {
  await api.stop()
  await node.stop()
  await anvil.stop()
})

type Headers = Readonly<Record<string, string>>
interface Body {
  readonly code?: number
  readonly address?: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly items: readonly { readonly address: string }[]
}
const bodyOf = ({ body }: ApiResponse): Body => body as Body
const refusalOf = (answer: ApiResponse): readonly unknown[] => {
  const { code, details } = bodyOf(answer)
  return [answer.status, code, details?.reason]
}

const fieldsAt = (atMs: number): MessageFields => ({
  domain: 'auth.test',
  uri: 'https://auth.test',
  issuedAt: new Date(atMs).toISOString(),
  expiresAt: new Date(atMs + 3_600_000).toISOString(),
})
const proofOf = async (wallet: TestWallet, atMs = Date.now()) => {
  const message = signInMessage(wallet, fieldsAt(atMs))
  const { kind: chain, address } = wallet
  return { chain, address, message, signature: await wallet.sign(message) }
}
const link = (apiKey: string, proof: unknown): Promise<ApiResponse> =>
  callApi(api, '/x402/link-address', {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(proof),
  })
const siwx = async (wallet: TestWallet, more: Partial<MessageFields> = {}): Promise<Headers> => {
  const message = signInMessage(wallet, { ...fieldsAt(Date.now()), ...more })
  return { authorization: `SIWX ${await signInToken(wallet, message)}` }
}
const plan = (headers: Headers): Promise<ApiResponse> =>
  callApi(api, '/v2/account/plan', { headers })

const account = async (name: string): Promise<string> =>
  (await api.organizations.createKey({ name, plan: 'selfhost' })).apiKey
const deployed = async (ownerByte: number): Promise<ContractWallet> => {
  const wallet = contractWallet(evmWallet(ownerByte))
  await deployWallet(anvil.client, wallet)
  return wallet
}
/** What another implementation says of a proof, on the same chain. */
const verifyElsewhere = ({ address, message, signature }: Awaited<ReturnType<typeof proofOf>>) =>
  anvil.client.verifyMessage({ address: address as Hex, message, signature: signature as Hex })
/** A wallet that is signed for by somebody else. */
const forged = <W extends TestWallet>(wallet: W): W => ({ ...wallet, sign: evmWallet(0x7f).sign })
const callsOfContracts = (): number =>
  node.asked.filter(({ method }) => method === 'eth_call').length

test('a deployed contract wallet is linked and signs in, and its token is verified once', async () => {
  const apiKey = await account('deployed')
  const wallet = await deployed(0x41)
  const unlinked = await plan(await siwx(wallet))
  assert.deepEqual(refusalOf(unlinked), [402, 402, 'no_subscription'])
  const proof = await proofOf(wallet)
  assert.equal(await verifyElsewhere(proof), true)
  assert.equal(await verifyElsewhere(await proofOf(forged(wallet))), false)
  const linked = await link(apiKey, proof)
  assert.equal(linked.status, 200, linked.text)
  assert.equal(bodyOf(linked).address, wallet.address.toLowerCase())
  const before = callsOfContracts()
  const token = await siwx(wallet)
  const answers = await Promise.all(Array.from({ length: 20 }, () => plan(token)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  const calls = callsOfContracts() - before
  // One that comes just when the first is answered asks once more.
  assert.ok(calls === 1 || calls === 2, `${calls} calls`)
  assert.equal((await plan(token)).status, 200)
  assert.equal(callsOfContracts() - before, calls)
  // Bytes behind those that the wallet reads: its signatures may have any length.
  const longer = { ...wallet, sign: async (text: string) => `${await wallet.sign(text)}00aa` }
  assert.equal((await plan(await siwx(longer))).status, 200)
})

test('an undeployed wallet is linked and signs in with an ERC-6492 signature, and after its deployment with either', async () => {
  const apiKey = await account('undeployed')
  const wallet = contractWallet(evmWallet(0x42))
  const early = undeployed(wallet)
  assert.deepEqual(refusalOf(await link(apiKey, await proofOf(wallet))), [
    400,
    40002,
    'bad_signature',
  ])
  const proof = await proofOf(early)
  assert.equal(await verifyElsewhere(proof), true)
  const linked = await link(apiKey, proof)
  assert.equal(linked.status, 200, linked.text)
  assert.equal((await plan(await siwx(early))).status, 200)
  assert.equal(await anvil.client.getCode({ address: wallet.address as Hex }), undefined)
  for (const wrong of [
    undeployed(forged(wallet)),
    { ...early, sign: undeployed(contractWallet(evmWallet(0x43))).sign },
    undeployed({ ...wallet, factoryData: '0x' }),
    {
      ...early,
      sign: async (text: string): Promise<string> => `0x${(await early.sign(text)).slice(68)}`,
    },
    { ...early, sign: async () => `0x${'6492'.repeat(16)}` },
  ])
    assert.deepEqual(refusalOf(await plan(await siwx(wrong))), [401, 401, 'bad_signature'])
  // An account of a key has no contract, however the signature is wrapped.
  const victim = evmWallet(0x44)
  const wrapped = { ...victim, sign: undeployed(forged(wallet)).sign }
  assert.deepEqual(refusalOf(await plan(await siwx(wrapped))), [401, 401, 'bad_signature'])
  await deployWallet(anvil.client, wallet)
  assert.equal((await plan(await siwx(wallet, { nonce: 'afterwards1' }))).status, 200)
  assert.equal((await plan(await siwx(early, { nonce: 'afterwards2' }))).status, 200)
})

test('a forged signature and a contract with an invalid answer are refused as bad_signature', async () => {
  const apiKey = await account('wrong')
  const wallet = await deployed(0x45)
  assert.equal((await link(apiKey, await proofOf(wallet))).status, 200)
  assert.deepEqual(refusalOf(await plan(await siwx(forged(wallet)))), [401, 401, 'bad_signature'])
  const refused = await link(apiKey, await proofOf(forged(wallet)))
  assert.deepEqual(refusalOf(refused), [400, 40002, 'bad_signature'])
  for (const [index, [name, bytecode]] of Object.entries(ODD_CONTRACTS).entries()) {
    const address = `0x${(0xabc000 + index).toString(16).padStart(40, '0')}` as const
    await anvil.client.setCode({ address, bytecode })
    const odd = { ...wallet, address }
    assert.deepEqual(
      refusalOf(await link(apiKey, await proofOf(odd))),
      [400, 40002, 'bad_signature'],
      name,
    )
  }
  // Precompiled contracts: the one at 4 sends its input back.
  for (const last of [1, 2, 4]) {
    const odd = { ...wallet, address: `0x${String(last).padStart(40, '0')}` }
    assert.deepEqual(refusalOf(await link(apiKey, await proofOf(odd))), [
      400,
      40002,
      'bad_signature',
    ])
  }
  assert.deepEqual(api.nodes.of('base')?.unavailable(), [])
})

test('a node that is slow or answers invalid data gives 503, and the signature is not counted as wrong', async () => {
  const apiKey = await account('node')
  const wallet = await deployed(0x46)
  const proof = await proofOf(wallet)
  const key = evmWallet(0x47)
  assert.equal((await link(apiKey, await proofOf(key))).status, 200)
  for (const result of [
    'hang',
    { raw: 'nonsense' },
    { result: 7 },
    { result: { toString: 1 } },
    { raw: '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"daily limit reached"}}' },
    {
      raw: '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"execution aborted (timeout = 5s)"}}',
    },
  ] as const) {
    node.meddle = ({ method }) => (method === 'eth_call' ? result : undefined)
    const started = Date.now()
    const answer = await link(apiKey, proof)
    assert.deepEqual(refusalOf(answer), [503, 50002, 'unchecked_signature'], JSON.stringify(result))
    assert.equal(answer.headers.get('retry-after'), '1')
    assert.ok(Date.now() - started < 6_000)
    const token = await siwx(wallet)
    assert.deepEqual(refusalOf(await plan(token)), [503, 50002, 'unchecked_signature'])
    // The signature of a key needs no node.
    assert.equal((await plan(await siwx(key, { nonce: `n${Date.now()}abcdefg` }))).status, 200)
  }
  // More than an address may show wrong: none of them was.
  node.meddle = ({ method }) => (method === 'eth_call' ? { result: null } : undefined)
  for (let n = 0; n < 25; n += 1) {
    const answer = await plan(await siwx(wallet, { nonce: `undecided${n}` }))
    assert.deepEqual(refusalOf(answer), [503, 50002, 'unchecked_signature'])
  }
  node.meddle = () => undefined
  assert.equal((await link(apiKey, proof)).status, 200)
  assert.equal((await plan(await siwx(wallet))).status, 200)
})

test('a slow node delays at most 8 checks of one address, and no wallet with a key', async () => {
  const apiKey = await account('slow')
  const [wallet, key] = [await deployed(0x48), evmWallet(0x49)]
  assert.equal((await link(apiKey, await proofOf(key))).status, 200)
  node.meddle = ({ method }) => (method === 'eth_call' ? 'hang' : undefined)
  const before = callsOfContracts()
  const tokens = await Promise.all(
    Array.from({ length: 20 }, (_, n) => siwx(wallet, { nonce: `parallel${n}` })),
  )
  let areAnswered = false
  const answers = Promise.all(tokens.map(plan)).finally(() => {
    areAnswered = true
  })
  await until(() => callsOfContracts() > before, 'the first call')
  assert.equal((await plan(await siwx(key))).status, 200)
  assert.ok(!areAnswered, 'a key waits for no node')
  const reasons = (await answers).map(refusalOf)
  const busy = reasons.filter(([, code]) => code === 50301)
  assert.equal(busy.length, 12)
  assert.ok(
    reasons.every(([status, , reason]) => status === 503 && reason === 'unchecked_signature'),
  )
  assert.equal(callsOfContracts() - before, 8)
  node.meddle = () => undefined
  assert.deepEqual(refusalOf(await plan(await siwx(wallet))), [402, 402, 'no_subscription'])
})

test('old and used proofs are refused without a call to the node', async () => {
  const apiKey = await account('replay')
  const wallet = await deployed(0x4a)
  const proof = await proofOf(wallet)
  assert.equal((await link(apiKey, proof)).status, 200)
  const path = `/v2/account/wallets/evm/${wallet.address}`
  const ended = await callApi(api, path, { method: 'DELETE', headers: { 'x-api-key': apiKey } })
  assert.equal(ended.status, 200)
  const before = callsOfContracts()
  assert.deepEqual(refusalOf(await link(apiKey, proof)), [409, 409, 'used_proof'])
  const old = await link(apiKey, await proofOf(wallet, Date.now() - 660_000))
  assert.deepEqual(refusalOf(old), [400, 40002, 'old_proof'])
  const expired = await link(apiKey, await proofOf(wallet, Date.now() - 7_200_000))
  assert.deepEqual(refusalOf(expired), [400, 40002, 'expired_token'])
  const token = await siwx(wallet, fieldsAt(Date.now() - 7_200_000))
  assert.deepEqual(refusalOf(await plan(token)), [401, 401, 'expired_token'])
  assert.deepEqual(refusalOf(await plan(await siwx(wallet, { chainId: '1' }))), [
    401,
    401,
    'wrong_chain',
  ])
  assert.equal(callsOfContracts(), before)
  assert.equal((await link(apiKey, await proofOf(wallet))).status, 200)
})

test('signatures up to 8 KiB are verified, longer ones are a validation error', async () => {
  const apiKey = await account('sizes')
  const wallet = await deployed(0x4b)
  const proof = await proofOf(wallet)
  const sign = (signature: string) => link(apiKey, { ...proof, signature })
  for (const signature of [
    '0x',
    '0x00',
    `0x${'ab'.repeat(8_192)}`,
    '0x123',
    'zz',
    `0x${'6492'.repeat(64)}`,
  ])
    assert.deepEqual(
      refusalOf(await sign(signature)),
      [400, 40002, 'bad_signature'],
      signature.slice(0, 20),
    )
  assert.equal((await sign(`0x${'ab'.repeat(8_193)}`)).status, 400)
  assert.equal(bodyOf(await sign(`0x${'ab'.repeat(8_193)}`)).code, 40002)
})

test('a stopped node gives 503 for contract wallets, and wallets with keys are linked', async () => {
  const apiKey = await account('gone')
  const wallet = await deployed(0x4c)
  await node.stop()
  const answer = await link(apiKey, await proofOf(wallet))
  assert.deepEqual(refusalOf(answer), [503, 50002, 'unchecked_signature'])
  assert.equal((await link(apiKey, await proofOf(evmWallet(0x4d)))).status, 200)
})
