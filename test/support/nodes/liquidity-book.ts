import { readFileSync } from 'node:fs'
import {
  type Address,
  encodeAbiParameters,
  getAddress,
  type Hex,
  numberToHex,
  parseAbi,
  type TransactionReceipt,
} from 'viem'
import { until } from '../until.ts'
import { type AnvilClient, devAccount } from './anvil.ts'
import { createDeployer } from './contract-deployer.ts'

/**
 * Creation code of LBFactory, LBPair and LBRouter of traderjoe-xyz/joe-v2 (MIT, see `liquidity-book.license.txt`). V2.1: tag v2.1.1, solc
 * 0.8.10, OpenZeppelin 4.9.6. V2.2: commit 067c6ccf, solc 0.8.20, evm paris, OpenZeppelin 5.0.2, no metadata. Both: optimizer runs 800.
 */
const codeOf = (name: string): Hex =>
  readFileSync(new URL(`./${name}.hex`, import.meta.url), 'utf8').trim() as Hex

const FACTORY = parseAbi([
  'function setLBPairImplementation(address pair)',
  'function addQuoteAsset(address token)',
  'function setPreset(uint16 binStep, uint16 baseFactor, uint16 filterPeriod, uint16 decayPeriod, uint16 reductionFactor, uint24 variableFeeControl, uint16 protocolShare, uint24 maxVolatility, bool isOpen)',
  'function createLBPair(address tokenX, address tokenY, uint24 activeId, uint16 binStep)',
  'function setFeesParametersOnPair(address tokenX, address tokenY, uint16 binStep, uint16 baseFactor, uint16 filterPeriod, uint16 decayPeriod, uint16 reductionFactor, uint24 variableFeeControl, uint16 protocolShare, uint24 maxVolatility)',
  'function forceDecay(address pair)',
  'function getLBPairInformation(address tokenX, address tokenY, uint256 binStep) view returns ((uint16 binStep, address pair, bool createdByOwner, bool ignoredForRouting))',
])
const ROUTER = parseAbi([
  'struct Liquidity { address tokenX; address tokenY; uint256 binStep; uint256 amountX; uint256 amountY; uint256 amountXMin; uint256 amountYMin; uint256 activeIdDesired; uint256 idSlippage; int256[] deltaIds; uint256[] distributionX; uint256[] distributionY; address to; address refundTo; uint256 deadline; }',
  'function addLiquidity(Liquidity terms)',
])
const PAIR = parseAbi([
  'function getActiveId() view returns (uint24)',
  'function balanceOf(address account, uint256 id) view returns (uint256)',
  'function burn(address from, address to, uint256[] ids, uint256[] amounts)',
  'function collectProtocolFees()',
])
const TOKEN = parseAbi([
  'function approve(address spender, uint256 amount)',
  'function transfer(address to, uint256 amount)',
])
const LOAN_TAKER = parseAbi(['function take(address lender, bytes32 amounts)'])

const DEADLINE = 2n ** 63n
const SHARES = 10n ** 18n
const FLASH_LOAN_FEE = 5n * 10n ** 14n

/** What the fee of a pair is made of, in the order of the contract. */
export type FeeTerms = readonly [
  baseFactor: number,
  filterPeriod: number,
  decayPeriod: number,
  reductionFactor: number,
  variableFeeControl: number,
  protocolShare: number,
  maxVolatility: number,
]

/** Two tokens and the step of a pair. */
export interface BookPair {
  readonly address: Address
  readonly tokenX: Address
  readonly tokenY: Address
  readonly binStep: number
}

/** Factory and router of one version, and what the first account does with them; every step is mined when it resolves. */
export interface BookContracts {
  readonly factory: Address
  readonly router: Address
  open(pair: Omit<BookPair, 'address'>, activeBin: number, terms: FeeTerms): Promise<BookPair>
  /** Puts so much of X evenly into the active bin and `above` bins over it, and of Y into it and those under it. */
  deposit(
    pair: BookPair,
    bins: { readonly above: number; readonly below: number },
    amounts: readonly [x: bigint, y: bigint],
  ): Promise<void>
  /** Takes a share in percent out of bins around the active one. */
  withdraw(pair: BookPair, reach: number, percent: bigint): Promise<void>
  setTerms(pair: BookPair, terms: FeeTerms): Promise<void>
  forceDecay(pair: BookPair): Promise<void>
  collectFees(pair: BookPair): Promise<void>
  /** Borrows from a pair and gives it back with the fee. */
  borrow(pair: BookPair, amounts: readonly [x: bigint, y: bigint]): Promise<void>
}

/** Puts code on a local node; its address. */
const deployCode = async (
  client: AnvilClient,
  name: string,
  values: readonly (Address | bigint)[] = [],
): Promise<Address> => {
  const types = values.map((value) => ({ type: typeof value === 'bigint' ? 'uint256' : 'address' }))
  const args = encodeAbiParameters(types, values)
  const hash = await client.sendTransaction({ data: `${codeOf(name)}${args.slice(2)}` })
  const receipt: TransactionReceipt = await until(
    () => client.getTransactionReceipt({ hash }),
    `receipt of ${name}`,
  )
  if (!receipt.contractAddress) throw new Error(`${name} was not deployed`)
  return getAddress(receipt.contractAddress)
}

const NOBODY: Address = '0x0000000000000000000000000000000000000000'

const even = (count: number): bigint[] =>
  Array.from({ length: count }, () => SHARES / BigInt(count))

/** Deploys V2.1 and V2.2; the router of V2.2 also knows the factory of V2.1. `quotes` may be the Y of pairs. */
export const deployLiquidityBooks = async (
  client: AnvilClient,
  wrappedNative: Address,
  quotes: readonly Address[],
): Promise<{ readonly v2_1: BookContracts; readonly v2_2: BookContracts }> => {
  const owner = devAccount(0).address
  const { write } = createDeployer(client, {})
  const factory1 = await deployCode(client, 'lb-factory-v2-1', [owner, FLASH_LOAN_FEE])
  const factory2 = await deployCode(client, 'lb-factory-v2-2', [owner, owner, FLASH_LOAN_FEE])
  const router1 = [factory1, NOBODY, NOBODY, NOBODY, wrappedNative]
  const router2 = [factory2, NOBODY, NOBODY, NOBODY, factory1, wrappedNative]
  const taker = await deployCode(client, 'loan-taker')
  const contracts = async (factory: Address, version: string, args: readonly Address[]) => {
    const implementation = await deployCode(client, `lb-pair-${version}`, [factory])
    await write(factory, FACTORY, 'setLBPairImplementation', [implementation])
    for (const quote of quotes) await write(factory, FACTORY, 'addQuoteAsset', [quote])
    const router = await deployCode(client, `lb-router-${version}`, args)
    return bookContracts(client, { factory, router, taker })
  }
  return {
    v2_1: await contracts(factory1, 'v2-1', router1),
    v2_2: await contracts(factory2, 'v2-2', router2),
  }
}

const bookContracts = (
  client: AnvilClient,
  { factory, router, taker }: Readonly<Record<'factory' | 'router' | 'taker', Address>>,
): BookContracts => {
  const owner = devAccount(0).address
  const { write } = createDeployer(client, {})
  const activeBin = ({ address }: BookPair): Promise<number> =>
    client.readContract({ address, abi: PAIR, functionName: 'getActiveId' })
  return {
    factory,
    router,
    open: async ({ tokenX, tokenY, binStep }, bin, terms) => {
      await write(factory, FACTORY, 'setPreset', [binStep, ...terms, true])
      await write(factory, FACTORY, 'createLBPair', [tokenX, tokenY, bin, binStep])
      for (const token of [tokenX, tokenY])
        await write(token, TOKEN, 'approve', [router, 2n ** 255n])
      const { pair } = await client.readContract({
        address: factory,
        abi: FACTORY,
        functionName: 'getLBPairInformation',
        args: [tokenX, tokenY, BigInt(binStep)],
      })
      return { address: pair, tokenX, tokenY, binStep }
    },
    deposit: async (pair, { above, below }, [amountX, amountY]) => {
      const deltas = Array.from({ length: above + below + 1 }, (_, at) => BigInt(at - below))
      const share = (isIn: (delta: bigint) => boolean): bigint[] => {
        const parts = even(deltas.filter(isIn).length)
        return deltas.map((delta) => (isIn(delta) ? (parts[0] ?? 0n) : 0n))
      }
      const terms = {
        tokenX: pair.tokenX,
        tokenY: pair.tokenY,
        binStep: BigInt(pair.binStep),
        amountX,
        amountY,
        amountXMin: 0n,
        amountYMin: 0n,
        activeIdDesired: BigInt(await activeBin(pair)),
        idSlippage: 0n,
        deltaIds: deltas,
        distributionX: share((delta) => delta >= 0n),
        distributionY: share((delta) => delta <= 0n),
        to: owner,
        refundTo: owner,
        deadline: DEADLINE,
      }
      await write(router, ROUTER, 'addLiquidity', [terms])
    },
    withdraw: async (pair, reach, percent) => {
      const active = await activeBin(pair)
      const ids: bigint[] = []
      const amounts: bigint[] = []
      for (let bin = active - reach; bin <= active + reach; bin += 1) {
        const held = await client.readContract({
          address: pair.address,
          abi: PAIR,
          functionName: 'balanceOf',
          args: [owner, BigInt(bin)],
        })
        if ((held * percent) / 100n === 0n) continue
        ids.push(BigInt(bin))
        amounts.push((held * percent) / 100n)
      }
      await write(pair.address, PAIR, 'burn', [owner, owner, ids, amounts])
    },
    setTerms: async ({ tokenX, tokenY, binStep }, terms) => {
      const args = [tokenX, tokenY, binStep, ...terms]
      await write(factory, FACTORY, 'setFeesParametersOnPair', args)
    },
    forceDecay: async ({ address }) => {
      await write(factory, FACTORY, 'forceDecay', [address])
    },
    collectFees: async ({ address }) => {
      await write(address, PAIR, 'collectProtocolFees', [])
    },
    borrow: async ({ address, tokenX, tokenY }, [x, y]) => {
      for (const [token, amount] of [
        [tokenX, x],
        [tokenY, y],
      ] as const)
        await write(token, TOKEN, 'transfer', [taker, amount / 1_000n])
      const packed = numberToHex((y << 128n) | x, { size: 32 })
      await write(taker, LOAN_TAKER, 'take', [address, packed])
    },
  }
}
