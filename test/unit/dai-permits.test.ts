/** Permits of tokens in DAI's own form: what is signed, calls of the V3 router, and each refusal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decodeFunctionData,
  domainSeparator,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  hashTypedData,
  keccak256,
  parseAbi,
  parseSignature,
  recoverAddress,
  stringToHex,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import {
  PERMIT_FORMS,
  permitTypeHash,
  readTokenPermitCall,
} from '../../serving/dex/permit-forms.ts'
import { readSignedPermit } from '../../serving/dex/signed-permit.ts'
import {
  requireFittingTokenPermit,
  requireTakenPermit,
  type SignedTokenPermit,
} from '../../serving/dex/signed-token-permit.ts'
import {
  permitFor,
  readPermitTerms,
  selfPermitData,
  tokenPermitTypedData,
} from '../../serving/dex/token-permit.ts'

const WORDS = 'test test test test test test test test test test test junk'
const SIGNER = mnemonicToAccount(WORDS)
const OTHER = mnemonicToAccount(WORDS, { addressIndex: 1 })
const OWNER = SIGNER.address.toLowerCase()
/** DAI on Ethereum. */
const TOKEN = '0x6b175474e89094c44da98b954eedeac495271d0f'
const ROUTER = '0xe592427a0aece92de3edee1f18e0157c05861564'
const CONTRACT = { chainId: 1, verifyingContract: TOKEN } as const
const MAX = (1n << 256n) - 1n
const [NOW, EXPIRY] = [1_000, 2_000n]
/** What DAI states at its address. Source: Vectorized/solady src/utils/SafeTransferLib.sol; makerdao/dss. */
const DAI_SEPARATOR = '0xdbb8cf42e1ecb028be3f3dbc922e1d878b963f411dc388ced501601c60f7c6f7'
const DAI_TYPEHASH = '0xea2aa0a1be11a07ed86d755c93467f4f82362b452371d1ba94d1715123511acb'
const TYPE = 'Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)'
const PERMIT_ABI = parseAbi([
  'function permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, uint8 v, bytes32 r, bytes32 s)',
])
const ROUTER_ABI = parseAbi([
  'function selfPermitAllowedIfNecessary(address token, uint256 nonce, uint256 expiry, uint8 v, bytes32 r, bytes32 s) payable',
])

const nameAnswer = encodeAbiParameters([{ type: 'string' }], ['Dai Stablecoin'])
const DAI_ANSWERS = {
  separator: DAI_SEPARATOR,
  permitType: DAI_TYPEHASH,
  description: undefined,
  name: nameAnswer,
}
const TERMS = readPermitTerms(DAI_ANSWERS, CONTRACT)
assert.ok(TERMS)
const STATE = { ...TERMS, nonceRaw: 7n }
const PERMIT = permitFor(STATE, {
  owner: OWNER,
  spender: ROUTER,
  amountRaw: 500n,
  deadline: EXPIRY,
})
const typed = tokenPermitTypedData(STATE, PERMIT)
const sign = (words: object = typed, by = SIGNER): Promise<Hex> => by.signTypedData(words as never)

test('the type that DAI states tells its form, and its own separator its domain of version 1', () => {
  assert.equal(permitTypeHash('dai'), DAI_TYPEHASH)
  assert.equal(permitTypeHash('dai'), keccak256(stringToHex(TYPE)))
  const domain = { name: 'Dai Stablecoin', version: '1', ...CONTRACT }
  assert.deepEqual(TERMS, { form: 'dai', domain })
  const answers = { ...DAI_ANSWERS, permitType: permitTypeHash('eip2612') }
  assert.deepEqual(readPermitTerms(answers, CONTRACT), { form: 'eip2612', domain })
  assert.equal(readPermitTerms(DAI_ANSWERS, { ...CONTRACT, chainId: 137 }), undefined)
})

/** Words of a digest, one after the other. */
const hashOf = (types: readonly string[], values: readonly unknown[]): Hex =>
  keccak256(
    encodeAbiParameters(
      types.map((type) => ({ type })),
      values,
    ),
  )

test('what is signed has the hash that viem gives the typed data, and that the token computes', async () => {
  const { domain, message, types, primaryType } = typed
  assert.equal(primaryType, 'Permit')
  const expected = { holder: OWNER, spender: ROUTER, nonce: '7', expiry: '2000', allowed: true }
  assert.deepEqual(message, expected)
  const whole = hashTypedData({ domain, types, primaryType, message } as never)
  const digest = PERMIT_FORMS.dai.digest(
    { ...CONTRACT, name: domain.name ?? '', version: '1' },
    PERMIT,
    7n,
  )
  assert.equal(digest, whole)
  const struct = hashOf(
    ['bytes32', 'address', 'address', 'uint256', 'uint256', 'bool'],
    [DAI_TYPEHASH, OWNER, ROUTER, 7n, EXPIRY, true],
  )
  assert.equal(domainSeparator({ domain }), DAI_SEPARATOR)
  assert.equal(keccak256(`0x1901${DAI_SEPARATOR.slice(2)}${struct.slice(2)}`), whole)
  const signer = await recoverAddress({ hash: whole, signature: await sign() })
  assert.equal(signer, SIGNER.address)
})

test('the V3 router is handed nonce and expiry, and the permit allows everything', async () => {
  const signature = await sign()
  const { r, s, v } = parseSignature(signature)
  const data = selfPermitData(TOKEN, { permit: PERMIT, signature }, 7n)
  const { args } = decodeFunctionData({ abi: ROUTER_ABI, data })
  assert.deepEqual([args[0].toLowerCase(), ...args.slice(1)], [TOKEN, 7n, EXPIRY, Number(v), r, s])
  assert.equal(data.slice(0, 10), '0xa4a78f0c')
  assert.equal(PERMIT.amountRaw, MAX)
})

const callOf = async ({ allowed = true, v }: { allowed?: boolean; v?: number } = {}) => {
  const signature = await sign({ ...typed, message: { ...typed.message, allowed } })
  const { r, s, yParity } = parseSignature(signature)
  const args = [SIGNER.address, ROUTER, 7n, EXPIRY, allowed, v ?? 27 + yParity, r, s] as const
  return { signature, data: encodeFunctionData({ abi: PERMIT_ABI, args }) }
}

test('a call of the token and typed data with a signature are read as the same permit', async () => {
  const { signature, data } = await callOf()
  assert.equal(data.slice(0, 10), '0x8fcbaf0c')
  const read = { kind: 'token', permit: PERMIT, nonceRaw: 7n, signature }
  assert.deepEqual(readSignedPermit(data, undefined), read)
  const { types: _types, ...words } = typed
  assert.deepEqual(readSignedPermit(signature, words), { ...read, domain: typed.domain })
  const [holder, spender] = [SIGNER.address, getAddress(ROUTER)]
  const checksummed = { ...words, message: { ...words.message, holder, spender } }
  assert.deepEqual(readSignedPermit(signature, checksummed as never), {
    ...read,
    domain: typed.domain,
  })
  const revoking = await callOf({ allowed: false })
  assert.equal(readTokenPermitCall(revoking.data)?.permit.amountRaw, 0n)
  const odd = await callOf({ v: 1 })
  const refused = { faultName: 'INVALID_PARAMETER' }
  assert.throws(() => readSignedPermit(odd.data, undefined), refused)
  assert.throws(() => readSignedPermit(data.slice(0, -64), undefined), refused)
  const notBoolean = data.replace(`${'1'.padStart(64, '0')}`, `${'2'.padStart(64, '0')}`) as Hex
  assert.notEqual(notBoolean, data)
  assert.throws(() => readSignedPermit(notBoolean, undefined), refused)
  const both = { ...words, message: { ...typed.message, owner: 7 } }
  assert.throws(
    () => readSignedPermit(signature, both as never),
    ({ faultName, details }) => faultName === 'INVALID_PARAMETER' && details.reason === 'form',
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
const SWAP = { chainId: 1, owner: OWNER, token: TOKEN, spender: ROUTER, nowSeconds: NOW }

test('a permit must be for the swap, allow, and have an end that is not over', () => {
  requireFittingTokenPermit(signedPermit(), SWAP)
  requireFittingTokenPermit(signedPermit({ permit: { ...PERMIT, deadline: MAX } }), SWAP)
  const strange = `0x${'9'.repeat(40)}`
  const cases = [
    ['INVALID_PARAMETER', 'other_chain', { domain: { ...STATE.domain, chainId: 2 } }],
    [
      'INVALID_PARAMETER',
      'other_token',
      { domain: { ...STATE.domain, verifyingContract: ROUTER } },
    ],
    ['INVALID_PARAMETER', 'other_owner', { permit: { ...PERMIT, owner: strange } }],
    ['INVALID_PARAMETER', 'other_spender', { permit: { ...PERMIT, spender: strange } }],
    ['INVALID_PARAMETER', 'allowed', { permit: { ...PERMIT, amountRaw: 0n } }],
    ['INVALID_PARAMETER', 'without_expiry', { permit: { ...PERMIT, deadline: 0n } }],
    ['INVALID_TIMESTAMP', 'expiry', { permit: { ...PERMIT, deadline: BigInt(NOW) } }],
  ] as const
  for (const [name, reason, more] of cases) {
    assert.throws(
      () => requireFittingTokenPermit(signedPermit(more), SWAP),
      ({ faultName, details }) => faultName === name && details.reason === reason,
      reason,
    )
  }
})

test('a permit must have the form and nonce of the token, and be signed by the holder', async () => {
  const signature = await sign()
  assert.equal(await requireTakenPermit(signedPermit({}, signature), STATE), STATE)
  const eip2612 = { ...STATE, form: 'eip2612' } as const
  const cases = [
    ['token_without_permit', signedPermit({}, signature), undefined],
    ['other_form', signedPermit({}, signature), eip2612],
    ['other_form', signedPermit({ permit: { ...PERMIT, form: 'eip2612' } }, signature), STATE],
    ['other_domain', signedPermit({ domain: { ...STATE.domain, version: '2' } }), STATE],
    ['nonce', signedPermit({ nonceRaw: 6n }, signature), STATE],
  ] as const
  for (const [reason, signed, state] of cases) {
    await assert.rejects(
      requireTakenPermit(signed, state),
      ({ faultName, details }) => faultName === 'INVALID_PARAMETER' && details.reason === reason,
      reason,
    )
  }
  const { message } = typed
  const others = [
    await sign(typed, OTHER),
    await sign({ ...typed, domain: { ...typed.domain, chainId: 2 } }),
    await sign({ ...typed, message: { ...message, expiry: '2001' } }),
    await sign({ ...typed, message: { ...message, allowed: false } }),
    await sign({ ...typed, message: { ...message, nonce: '8' } }),
  ]
  for (const other of others) {
    await assert.rejects(requireTakenPermit(signedPermit({}, other), STATE), {
      faultName: 'TRANSACTION_SIGNATURE_MISSING',
    })
  }
})
