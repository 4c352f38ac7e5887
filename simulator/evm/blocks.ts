import { bytesToHex, type Hex, keccak256, numberToHex, toRlp } from 'viem'
import { minBigint } from '../../core/bigint-math.ts'
import type { BloomCache } from './bloom-filter.ts'
import type { SealedTransaction } from './transactions.ts'

/** Header of a block with its hash. */
export interface Header {
  readonly height: number
  readonly hash: Hex
  readonly parentHash: Hex
  readonly timeMs: number
  readonly coinbase: Hex
  readonly stateRoot: Hex
  readonly transactionsRoot: Hex
  readonly receiptsRoot: Hex
  readonly logsBloom: Hex
  readonly gasLimit: number
  readonly gasUsed: number
  readonly baseFeeRaw: bigint
  readonly extraData: Hex
  readonly mixHash: Hex
  readonly parentBeaconBlockRoot: Hex
}

/** A block as it stands on the chain; `writes` are the places of the state that it changed. */
export interface SealedBlock extends Header {
  readonly transactions: readonly SealedTransaction[]
  readonly writes: ReadonlyMap<number, bigint>
}

const EMPTY_UNCLES: Hex = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
export const EMPTY_ROOT: Hex = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
const ZERO_NONCE: Hex = '0x0000000000000000'

const quantity = (value: bigint | number): Hex => {
  if (BigInt(value) === 0n) return '0x'
  const digits = value.toString(16)
  return digits.length % 2 === 0 ? `0x${digits}` : `0x0${digits}`
}

/** Keccak of the RLP of a header with the fields of Cancun (EIP-4895, EIP-4844, EIP-4788); blocks carry no withdrawals and no blobs. */
export const headerHash = (header: Omit<Header, 'hash'>): Hex =>
  keccak256(
    toRlp(
      [
        header.parentHash,
        EMPTY_UNCLES,
        header.coinbase,
        header.stateRoot,
        header.transactionsRoot,
        header.receiptsRoot,
        header.logsBloom,
        '0x',
        quantity(header.height),
        quantity(header.gasLimit),
        quantity(header.gasUsed),
        quantity(Math.floor(header.timeMs / 1_000)),
        header.extraData,
        header.mixHash,
        ZERO_NONCE,
        quantity(header.baseFeeRaw),
        EMPTY_ROOT,
        '0x',
        '0x',
        header.parentBeaconBlockRoot,
      ],
      'bytes',
    ),
  )

/** The header alone, without what makes a block heavy. */
export const headerOnly = (block: Header | SealedBlock): Header => {
  const { height, hash, parentHash, timeMs, coinbase, stateRoot, transactionsRoot } = block
  const { receiptsRoot, logsBloom, gasLimit, gasUsed, baseFeeRaw, extraData, mixHash } = block
  const { parentBeaconBlockRoot } = block
  return {
    height,
    hash,
    parentHash,
    timeMs,
    coinbase,
    stateRoot,
    transactionsRoot,
    receiptsRoot,
    logsBloom,
    gasLimit,
    gasUsed,
    baseFeeRaw,
    extraData,
    mixHash,
    parentBeaconBlockRoot,
  }
}

/** Bloom of all logs of some transactions. */
export const bloomOf = (blooms: BloomCache, transactions: readonly SealedTransaction[]): Hex => {
  const filter = new Uint8Array(256)
  for (const { logs } of transactions) blooms.add(filter, logs)
  return bytesToHex(filter)
}

/** Price of a unit of gas that a transaction paid. */
const gasPriceOf = (baseFeeRaw: bigint, tx: SealedTransaction): bigint =>
  minBigint(baseFeeRaw + tx.priorityFeeRaw, tx.maxFeeRaw)

const hex = numberToHex

/** A transaction as JSON-RPC shows it. */
export const transactionToJson = (block: SealedBlock, tx: SealedTransaction, index: number) => ({
  blockHash: block.hash,
  blockNumber: hex(block.height),
  from: tx.from,
  gas: hex(tx.gasLimit),
  gasPrice: hex(gasPriceOf(block.baseFeeRaw, tx)),
  maxFeePerGas: hex(tx.maxFeeRaw),
  maxPriorityFeePerGas: hex(tx.priorityFeeRaw),
  hash: tx.hash,
  input: tx.input,
  nonce: hex(tx.nonce),
  to: tx.to,
  transactionIndex: hex(index),
  value: hex(tx.valueRaw),
  type: '0x2',
  accessList: [],
  chainId: '0x1',
  v: hex(tx.yParity),
  r: tx.r,
  s: tx.s,
  yParity: hex(tx.yParity),
})

/** Head notice of `eth_subscribe`. */
export const headerToJson = (header: Header) => ({
  parentHash: header.parentHash,
  sha3Uncles: EMPTY_UNCLES,
  miner: header.coinbase,
  stateRoot: header.stateRoot,
  transactionsRoot: header.transactionsRoot,
  receiptsRoot: header.receiptsRoot,
  logsBloom: header.logsBloom,
  difficulty: hex(0),
  number: hex(header.height),
  gasLimit: hex(header.gasLimit),
  gasUsed: hex(header.gasUsed),
  timestamp: hex(Math.floor(header.timeMs / 1_000)),
  extraData: header.extraData,
  mixHash: header.mixHash,
  nonce: ZERO_NONCE,
  baseFeePerGas: hex(header.baseFeeRaw),
  withdrawalsRoot: EMPTY_ROOT,
  blobGasUsed: hex(0),
  excessBlobGas: hex(0),
  parentBeaconBlockRoot: header.parentBeaconBlockRoot,
  hash: header.hash,
})

/** A block with transactions or their hashes only. */
export const blockToJson = (block: SealedBlock, full: boolean) => ({
  ...headerToJson(block),
  size: hex(1_000 + block.transactions.reduce((sum, tx) => sum + tx.input.length / 2 + 110, 0)),
  transactions: full
    ? block.transactions.map((tx, at) => transactionToJson(block, tx, at))
    : block.transactions.map(({ hash }) => hash),
  uncles: [],
  withdrawals: [],
})

const logToJson = (
  block: SealedBlock,
  at: { readonly tx: number; readonly log: number },
  log: SealedTransaction['logs'][number],
) => ({
  address: log.address,
  topics: log.topics,
  data: log.data,
  blockHash: block.hash,
  blockNumber: hex(block.height),
  blockTimestamp: hex(Math.floor(block.timeMs / 1_000)),
  transactionHash: block.transactions[at.tx]?.hash,
  transactionIndex: hex(at.tx),
  logIndex: hex(at.log),
  removed: false,
})

/** Every log of a block in order. */
export const logsToJson = (block: SealedBlock) => {
  let index = 0
  return block.transactions.flatMap(({ logs }, tx) =>
    logs.map((log) => {
      const json = logToJson(block, { tx, log: index }, log)
      index += 1
      return json
    }),
  )
}

/** Every receipt of a block in order. */
export const receiptsToJson = (block: SealedBlock, blooms: BloomCache) => {
  let cumulative = 0
  let index = 0
  return block.transactions.map((tx, at) => {
    cumulative += tx.gasUsed
    const logs = tx.logs.map((log, offset) =>
      logToJson(block, { tx: at, log: index + offset }, log),
    )
    index += tx.logs.length
    return {
      blockHash: block.hash,
      blockNumber: hex(block.height),
      contractAddress: tx.contractAddress,
      cumulativeGasUsed: hex(cumulative),
      effectiveGasPrice: hex(gasPriceOf(block.baseFeeRaw, tx)),
      from: tx.from,
      gasUsed: hex(tx.gasUsed),
      logs,
      logsBloom: bloomOf(blooms, [tx]),
      status: tx.success ? '0x1' : '0x0',
      to: tx.to,
      transactionHash: tx.hash,
      transactionIndex: hex(at),
      type: '0x2',
    }
  })
}
