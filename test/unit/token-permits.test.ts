/** Permits that tokens take themselves (EIP-2612): domains, typed data, calls of the V3 router, and each refusal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Address,
  decodeFunctionData,
  domainSeparator,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseAbiParameters,
  parseSignature,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { routerCall } from '../../serving/dex/evm-calls.ts'
import type { Pool } from '../../serving/dex/pool.ts'
import { createPoolGraph } from '../../serving/dex/pool-graph.ts'
import { quoteSwap } from '../../serving/dex/quote.ts'
import { readSignedPermit, withinPermit } from '../../serving/dex/signed-permit.ts'
import {
  permittedRouters,
  requireFittingTokenPermit,
  requireTakenPermit,
  type SignedTokenPermit,
} from '../../serving/dex/signed-token-permit.ts'
import {
  PERMIT_QUESTIONS,
  permitNonceData,
  readPermitTerms,
  selfPermitData,
  tokenPermitTypedData,
} from '../../serving/dex/token-permit.ts'

const WORDS = 'test test test test test test test test test test test junk'
const [SIGNER, OTHER] = [0, 1].map((addressIndex) =>
  mnemonicToAccount(WORDS, { addressIndex }),
) as [ReturnType<typeof mnemonicToAccount>, ReturnType<typeof mnemonicToAccount>]
const OWNER = SIGNER.address.toLowerCase()
const address = (digit: string): Address => `0x${digit.repeat(40)}`
const [TOKEN, BOUGHT, ROUTER] = [address('a'), address('b'), address('c')]
const CONTRACT = { chainId: 1, verifyingContract: TOKEN }
const V3 = parseAbi([
  'function multicall(bytes[] data) payable returns (bytes[])',
  'function selfPermitIfNecessary(address token, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) payable',
  'function exactInput((bytes path, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum)) payable',
  'function exactOutput((bytes path, address recipient, uint256 deadline, uint256 amountOut, uint256 amountInMaximum)) payable',
  'function unwrapWETH9(uint256 amountMinimum, address recipient) payable',
])
const PERMIT_ABI = parseAbi([
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
])
const DESCRIPTION = parseAbiParameters(
  'bytes1, string, string, uint256, address, bytes32, uint256[]',
)
const ZERO_WORD: Hex = `0x${'00'.repeat(32)}`
const [NOW, DEADLINE] = [1_000, 2_000n]

const separatorOf = (domain: object): Hex =>
  domainSeparator({ domain: { ...CONTRACT, ...domain } as never })
const nameAnswer = (name: string): Hex => encodeAbiParameters([{ type: 'string' }], [name])
const described = ({
  bits = '0x0f',
  name = 'A',
  version = '3',
  chain = 1n,
  at = TOKEN,
} = {}): Hex =>
  encodeAbiParameters(DESCRIPTION, [bits as Hex, name, version, chain, at, ZERO_WORD, []])

const domainFrom = (answers: Partial<Parameters<typeof readPermitTerms>[0]>) =>
  readPermitTerms(
    {
      separator: undefined,
      permitType: undefined,
      description: undefined,
      name: undefined,
      ...answers,
    },
    CONTRACT,
  )?.domain

test('the domain of a token is what it describes or its name with version 1 or 2, where that has the stated hash', () => {
  for (const version of ['1', '2']) {
    const separator = separatorOf({ name: 'A', version })
    const expected = { name: 'A', version, ...CONTRACT }
    assert.deepEqual(domainFrom({ separator, name: nameAnswer('A') }), expected)
    // What it describes is not what it uses: the name still is.
    const description = described()
    assert.deepEqual(domainFrom({ separator, description, name: nameAnswer('A') }), expected)
  }
  const separator = separatorOf({ name: 'A', version: '3' })
  const expected = { name: 'A', version: '3', ...CONTRACT }
  assert.deepEqual(domainFrom({ separator, description: described() }), expected)
  const unnamed = domainFrom({
    separator: separatorOf({}),
    description: described({ bits: '0x0c' }),
  })
  assert.deepEqual(unnamed, CONTRACT)
})

test('a token whose domain is not certain, or whose permits have an unknown form, is not offered', () => {
  const separator = separatorOf({ name: 'A', version: '3' })
  const of = (change: Parameters<typeof described>[0]) => ({
    separator,
    description: described(change),
  })
  const cases = [
    { separator, name: nameAnswer('A') },
    { separator: undefined, name: nameAnswer('A') },
    { separator: '0x', name: nameAnswer('A') },
    of({ chain: 2n }),
    of({ at: BOUGHT }),
    // With a salt; without the chain.
    of({ bits: '0x1f' }),
    of({ bits: '0x0b' }),
    { separator, description: '0x' },
    { separator, description: `${described()}${'00'.repeat(4_096)}` },
    {
      separator: separatorOf({ name: 'A'.repeat(129), version: '1' }),
      name: nameAnswer('A'.repeat(129)),
    },
    { separator: separatorOf({ name: 'A', version: '1' }), name: ZERO_WORD },
  ]
  for (const answers of cases) assert.equal(domainFrom(answers), undefined)
  const permitType = `0x${'7'.repeat(64)}`
  assert.equal(domainFrom({ separator, description: described(), permitType }), undefined)
  // As Uniswap V2's pairs publish it.
  const own = '0x6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c9'
  assert.ok(domainFrom({ separator, description: described(), permitType: own }))
})

test('a token is asked by the selectors that EIP-2612 and EIP-5267 publish', () => {
  assert.equal(permitNonceData(OWNER), `0x7ecebe00${OWNER.slice(2).padStart(64, '0')}`)
  assert.deepEqual(PERMIT_QUESTIONS, {
    separator: '0x3644e515',
    permitType: '0x30adf81f',
    description: '0x84b0196e',
    name: '0x06fdde03',
  })
})

const FORM = { form: 'eip2612' } as const
const STATE = { ...FORM, domain: { name: 'A', version: '2', ...CONTRACT }, nonceRaw: 7n }
const PERMIT = { ...FORM, owner: OWNER, spender: ROUTER, amountRaw: 500n, deadline: DEADLINE }
const typed = tokenPermitTypedData(STATE, PERMIT)
const sign = (words: object = typed, by = SIGNER): Promise<Hex> => by.signTypedData(words as never)

test('typed data of a permit has the domain of the token, and texts for its numbers', () => {
  const { domain, types, primaryType, message } = typed
  assert.deepEqual(domain, STATE.domain)
  assert.deepEqual(
    types.EIP712Domain.map(({ name }) => name),
    [...['name', 'version', 'chainId', 'verifyingContract']],
  )
  assert.deepEqual(
    [primaryType, types.Permit.map(({ name }) => name)],
    ['Permit', ['owner', 'spender', 'value', 'nonce', 'deadline']],
  )
  assert.deepEqual(message, {
    owner: OWNER,
    spender: ROUTER,
    value: '500',
    nonce: '7',
    deadline: '2000',
  })
  const unnamed = tokenPermitTypedData({ ...STATE, domain: CONTRACT }, PERMIT)
  assert.deepEqual(
    unnamed.types.EIP712Domain.map(({ name }) => name),
    [...['chainId', 'verifyingContract']],
  )
})

const POOL = {
  kind: 'constant_product',
  address: address('2'),
  protocol: 'uniswap_v3',
  tokens: [TOKEN, BOUGHT],
  feePips: 3_000,
  tvlUsd: 1e6,
  reserves: [10n ** 24n, 10n ** 24n],
} as const satisfies Pool

const quoteOf = (mode: 'exact_in' | 'exact_out') =>
  quoteSwap(
    {
      graph: createPoolGraph([POOL], { minTvlUsd: 1_000, poolsPerPair: 8 }),
      hubs: new Set<string>(),
    },
    { tokenIn: TOKEN, tokenOut: BOUGHT, mode, amountRaw: 10n ** 18n },
    100,
  )

const callsOf = (data: Hex) => {
  const { functionName, args } = decodeFunctionData({ abi: V3, data })
  assert.ok(functionName === 'multicall')
  return args[0].map((each) => decodeFunctionData({ abi: V3, data: each }))
}

test('the V3 router is handed the permit before the swap, in one call', async () => {
  const signature = await sign()
  const { r, s, v } = parseSignature(signature)
  const selfPermit = selfPermitData(TOKEN, { permit: PERMIT, signature }, 7n)
  const swapOf = (mode: 'exact_in' | 'exact_out', buysNativeToken: boolean) => {
    const quote = quoteOf(mode)
    const [path] = quote.route.paths
    assert.ok(path)
    const terms = {
      recipient: OWNER,
      deadline: 2_000,
      sellsNativeToken: false,
      buysNativeToken,
      mode,
    }
    const { data, valueRaw } = routerCall({ ...quote, ...terms, path, kind: 'v3', selfPermit })
    assert.equal(valueRaw, 0n)
    return callsOf(data)
  }
  const plain = swapOf('exact_in', false)
  assert.deepEqual(
    plain.map(({ functionName }) => functionName),
    [...['selfPermitIfNecessary', 'exactInput']],
  )
  const [token, ...rest] = (plain[0]?.args ?? []) as readonly string[]
  assert.equal(token?.toLowerCase(), TOKEN)
  assert.deepEqual(rest as readonly unknown[], [500n, DEADLINE, Number(v), r, s])
  assert.deepEqual(
    swapOf('exact_out', true).map(({ functionName }) => functionName),
    [...['selfPermitIfNecessary', 'exactOutput', 'unwrapWETH9']],
  )
})

const signedPermit = (more: object = {}, signature: Hex = '0x'): SignedTokenPermit => ({
  kind: 'token',
  permit: PERMIT,
  domain: STATE.domain,
  nonceRaw: 7n,
  signature,
  ...more,
})
const TERMS = { chainId: 1, owner: OWNER, token: TOKEN, spender: ROUTER, nowSeconds: NOW }

test('a permit of a token must be for the chain, token, owner and router of the swap, and still be valid', () => {
  requireFittingTokenPermit(signedPermit(), TERMS)
  const cases = [
    ['other_chain', { domain: { ...STATE.domain, chainId: 2 } }],
    ['other_token', { domain: { ...STATE.domain, verifyingContract: BOUGHT } }],
    ['other_owner', { permit: { ...PERMIT, owner: address('9') } }],
    ['other_spender', { permit: { ...PERMIT, spender: address('9') } }],
  ] as const
  for (const [reason, more] of cases) {
    assert.throws(
      () => requireFittingTokenPermit(signedPermit(more), TERMS),
      ({ faultName, details }) => faultName === 'INVALID_PARAMETER' && details.reason === reason,
      reason,
    )
  }
  const over = signedPermit({ permit: { ...PERMIT, deadline: BigInt(NOW) } })
  assert.throws(() => requireFittingTokenPermit(over, TERMS), { faultName: 'INVALID_TIMESTAMP' })
  const quote = quoteOf('exact_out')
  const within = (amountRaw: bigint) =>
    withinPermit(quote, signedPermit({ permit: { ...PERMIT, amountRaw } }))
  const needed = quote.route.amountInRaw
  assert.equal(within(needed).maxInRaw, needed)
  assert.equal(within(quote.maxInRaw * 2n).maxInRaw, quote.maxInRaw)
  assert.throws(() => within(needed - 1n), { faultName: 'INVALID_PARAMETER' })
})

test('a permit of a token must be signed by its owner for what the token says', async () => {
  const signature = await sign()
  await requireTakenPermit(signedPermit({}, signature), STATE)
  const invalid = { faultName: 'INVALID_PARAMETER' }
  const cases = [
    ['token_without_permit', {}, undefined],
    ['other_domain', { domain: { ...CONTRACT, name: 'B' } }, STATE],
    ['other_domain', { domain: { ...CONTRACT, version: '1' } }, STATE],
    ['nonce', { nonceRaw: 6n }, STATE],
  ] as const
  for (const [reason, more, state] of cases) {
    const details = { parameter: 'permit', reason }
    await assert.rejects(
      () => requireTakenPermit(signedPermit(more, signature), state),
      (error: { readonly faultName: string; readonly details: object }) => {
        assert.equal(error.faultName, invalid.faultName)
        assert.deepEqual({ ...error.details, ...details }, error.details)
        return true
      },
    )
  }
  const unsigned = { faultName: 'TRANSACTION_SIGNATURE_MISSING' }
  const others = [
    await sign(typed, OTHER),
    await sign({ ...typed, domain: { ...typed.domain, chainId: 2 } }),
    await sign({ ...typed, message: { ...typed.message, value: '501' } }),
    `0x${'00'.repeat(65)}` as const,
  ]
  for (const other of others) {
    await assert.rejects(() => requireTakenPermit(signedPermit({}, other), STATE), unsigned)
  }
  const later = { ...STATE, nonceRaw: 8n }
  const { nonceRaw: _nonce, ...unnumbered } = signedPermit({}, signature)
  await assert.rejects(() => requireTakenPermit(unnumbered, later), unsigned)
})

test('a request says by the primary type of its typed data, or by the call, whose permit it has', async () => {
  const signature = await sign()
  const { types: _types, ...words } = typed
  const read = readSignedPermit(signature, words)
  assert.deepEqual(read, signedPermit({}, signature))
  const { r, s, yParity } = parseSignature(signature)
  const call = (v: number) =>
    encodeFunctionData({
      abi: PERMIT_ABI,
      args: [SIGNER.address, ROUTER, 500n, DEADLINE, v, r, s],
    })
  assert.deepEqual(readSignedPermit(call(27 + yParity), undefined), {
    kind: 'token',
    permit: PERMIT,
    signature,
  })
  assert.throws(() => readSignedPermit(call(yParity), undefined), {
    faultName: 'INVALID_PARAMETER',
  })
  const huge = { ...words, message: { ...words.message, value: String(1n << 256n) } }
  assert.throws(() => readSignedPermit(signature, huge), { faultName: 'INVALID_PARAMETER' })
})

test('only V3 routers take permits of tokens, and of several the one that is named', () => {
  const routers = [
    { protocol: 'uniswap_v2', kind: 'v2', router: address('d') },
    { protocol: 'uniswap_v3', kind: 'v3', router: ROUTER },
    { protocol: 'other_v3', kind: 'v3', router: address('e') },
  ] as const
  assert.deepEqual(permittedRouters(routers, signedPermit()), [routers[1]])
  const other = signedPermit({ permit: { ...PERMIT, spender: address('d') } })
  assert.deepEqual(permittedRouters(routers, other), [routers[1], routers[2]])
})
