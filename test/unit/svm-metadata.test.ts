import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base58Decode } from '../../core/base58.ts'
import { findProgramAddress } from '../../core/program-derived-address.ts'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import type { AccountInfo, AccountReader } from '../../ingestors/svm/source/accounts.ts'
import { svmMetadataReader } from '../../ingestors/svm/source/metadata-reader.ts'
import { parseMintAccount, token2022Metadata } from '../../ingestors/svm/source/mint-metadata.ts'
import { buildEvmBlock } from '../support/builders/evm-block.ts'
import { addressFromByte } from '../support/builders/svm-transaction-json.ts'
import { solanaExpectations } from '../support/recordings/solana.ts'

const { signal } = new AbortController()
const MINT = addressFromByte(5)
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const USDC_METADATA = '5x38Kp4hvdomTCnCrAny4UtMUt5rQBdB6px2K1Ui45Wq'
const WRAPPED_SOL_2022 = '9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP'
const bytesOf = (key: string): Uint8Array => base58Decode(key) ?? new Uint8Array()

/** A mint of 6 decimals and 1,000,000.5 tokens that anybody with key 1 may mint and nobody may freeze. */
const mintData = (): Buffer => {
  const data = Buffer.alloc(82)
  data.writeUInt32LE(1, 0)
  data.set(bytesOf(addressFromByte(1)), 4)
  data.writeBigUInt64LE(1_000_000_500_000n, 36)
  data.set([6, 1], 44)
  return data
}
const text = (value: string, width = value.length): Buffer => {
  const data = Buffer.alloc(4 + width)
  data.writeUInt32LE(width)
  data.write(value, 4)
  return data
}
const metaplex = (...texts: readonly Buffer[]): AccountInfo => ({
  owner: PROGRAM_IDS.metadata,
  data: Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1), ...texts, Buffer.alloc(20)]),
})
/** A Token-2022 mint with an extension that nobody reads and its own metadata behind it. */
const ownMetadata = (): AccountInfo => {
  const entry = (type: number, body: Uint8Array): Buffer => {
    const head = Buffer.alloc(4)
    head.writeUInt16LE(type, 0)
    head.writeUInt16LE(body.length, 2)
    return Buffer.concat([head, body])
  }
  const texts = [text('Own  Name'), text('OWN'), text('https://own.example/1.json')]
  const told = Buffer.concat([Buffer.alloc(32), bytesOf(MINT), ...texts, Buffer.alloc(4)])
  const base = Buffer.concat([mintData(), Buffer.alloc(165 - 82), Buffer.from([1])])
  const data = Buffer.concat([base, entry(18, Buffer.alloc(64, 3)), entry(19, told)])
  return { owner: PROGRAM_IDS.token2022, data }
}

const node = (accounts: Readonly<Record<string, AccountInfo>>) => {
  const asked: (readonly string[])[] = []
  const reader: AccountReader = async (addresses) => {
    asked.push(addresses)
    return addresses.map((address) => accounts[address] ?? null)
  }
  return { reader, asked }
}
const tokensAt = (height: number, ...tokens: readonly string[]) =>
  [{ pools: [], tokens }, buildEvmBlock({ height }, []), signal] as const

test('derived program addresses equal those of the chain', () => {
  const wrapped = findProgramAddress(PROGRAM_IDS.token2022, [Buffer.from('native-mint')])
  assert.equal(wrapped, WRAPPED_SOL_2022)
  const [made] = solanaExpectations()['create_token_pumpfun_1.json']?.created ?? []
  assert.ok(made !== undefined)
  const seeds = [Buffer.from('bonding-curve'), bytesOf(made.mint)]
  assert.equal(findProgramAddress(PROGRAM_IDS.pumpFun, seeds), made.bonding_curve)
  const metadata = [Buffer.from('metadata'), bytesOf(PROGRAM_IDS.metadata), bytesOf(USDC)]
  assert.equal(findProgramAddress(PROGRAM_IDS.metadata, metadata), USDC_METADATA)
})

test('a mint and its Metaplex account give one metadata record, in one call for all tokens', async () => {
  const { reader, asked } = node({
    [USDC]: { owner: PROGRAM_IDS.token, data: mintData() },
    [USDC_METADATA]: metaplex(text('USD Coin', 32), text('USDC', 10), text('', 200)),
    [MINT]: ownMetadata(),
  })
  const { tokens, pools } = await svmMetadataReader(reader).read(
    ...tokensAt(9, USDC, MINT, addressFromByte(8)),
  )
  assert.deepEqual(pools, [])
  assert.deepEqual(tokens, [
    {
      address: USDC,
      decimals: 6,
      name: 'USD Coin',
      symbol: 'USDC',
      totalSupplyRaw: 1_000_000_500_000n,
      program: PROGRAM_IDS.token,
      mintAuthority: addressFromByte(1),
    },
    {
      address: MINT,
      decimals: 6,
      name: 'Own Name',
      symbol: 'OWN',
      uri: 'https://own.example/1.json',
      totalSupplyRaw: 1_000_000_500_000n,
      program: PROGRAM_IDS.token2022,
      mintAuthority: addressFromByte(1),
    },
  ])
  assert.equal(asked.length, 1)
})

test('the mints of wrapped SOL count nothing, so their supply is unknown', () => {
  for (const [address, owner] of [
    ['So11111111111111111111111111111111111111112', PROGRAM_IDS.token],
    [WRAPPED_SOL_2022, PROGRAM_IDS.token2022],
  ] as const) {
    const data = mintData()
    data.writeBigUInt64LE(0n, 36)
    assert.equal(parseMintAccount(address, { owner, data })?.totalSupplyRaw, null, address)
    assert.equal(parseMintAccount(MINT, { owner, data })?.totalSupplyRaw, 0n, owner)
  }
})

test('an account that is not a mint is requested again later, not at every block', async () => {
  const { reader, asked } = node({ [MINT]: { owner: PROGRAM_IDS.system, data: mintData() } })
  const facts = svmMetadataReader(reader)
  assert.deepEqual((await facts.read(...tokensAt(9, MINT))).tokens, [])
  await facts.read(...tokensAt(10, MINT))
  assert.equal(asked.length, 1)
  await facts.read(...tokensAt(1_000, MINT))
  assert.equal(asked.length, 2)
})

test('a damaged mint account gives no metadata or some, and never throws', () => {
  const whole = ownMetadata()
  for (let length = 0; length <= whole.data.length; length += 1) {
    const cut = { ...whole, data: whole.data.subarray(0, length) }
    if (parseMintAccount(MINT, cut) === undefined) assert.ok(length < 166)
    token2022Metadata(cut)
  }
  const unready = mintData()
  unready[45] = 0
  assert.equal(parseMintAccount(MINT, { owner: PROGRAM_IDS.token, data: unready }), undefined)
})
