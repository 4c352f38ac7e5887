import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync } from 'node:zlib'
import {
  type Hex,
  keccak256,
  serializeTransaction,
  type TransactionSerializable,
  toHex,
  toRlp,
} from 'viem'
import { WebSocketServer } from 'ws'
import { chainRecordingJson } from '../recordings/evm-chains.ts'
import type { Json } from './contract.ts'

/** A server of flashblocks that says what it is told to, to everybody who listens. */
export interface FlashblocksServer {
  readonly url: string
  /** Connections so far, and those that are open. */
  readonly opened: () => number
  readonly listening: () => number
  /** As text. */
  say(frame: unknown): void
  /** As bytes, whatever they are. */
  sayBytes(bytes: Uint8Array): void
  /** Compressed, as the public endpoint says it. */
  sayPacked(frame: unknown): void
  /** Every connection falls. */
  drop(): void
  stop(): Promise<void>
}

/** Starts a server on a free port. */
export const startFlashblocksServer = async (): Promise<FlashblocksServer> => {
  const server = createServer()
  const sockets = new WebSocketServer({ server })
  let opened = 0
  sockets.on('connection', () => {
    opened += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const tell = (data: string | Uint8Array): void => {
    for (const socket of sockets.clients) socket.send(data)
  }
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    opened: () => opened,
    listening: () => sockets.clients.size,
    say: (frame) => tell(JSON.stringify(frame)),
    sayBytes: tell,
    sayPacked: (frame) => tell(compressFrame(frame)),
    drop: () => {
      for (const socket of sockets.clients) socket.terminate()
    },
    stop: async () => {
      for (const socket of sockets.clients) socket.terminate()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** A frame as the public endpoint says it. */
export const compressFrame = (frame: unknown): Buffer => brotliCompressSync(JSON.stringify(frame))

const amount = (value: unknown): bigint => BigInt((value as string | undefined) ?? 0)

/** A recorded transaction as it was signed. Throws where its hash says otherwise. */
const rawOf = (said: Json): Hex => {
  const raw = said.type === '0x7e' ? serializeDeposit(said) : serializeSigned(said)
  if (keccak256(raw) !== said.hash) throw new Error(`${said.hash} was signed otherwise`)
  return raw
}

const serializeDeposit = ({ sourceHash, from, to, gas, input }: Json): Hex => {
  const fields = [sourceHash, from, to, '0x', '0x', gas, '0x', input].map((field) => {
    const text = String(field)
    return (text.length % 2 === 0 ? text : `0x0${text.slice(2)}`) as Hex
  })
  return `0x7e${toRlp(fields).slice(2)}`
}

const serializeSigned = (said: Json): Hex => {
  const common = {
    nonce: Number(said.nonce),
    gas: amount(said.gas),
    value: amount(said.value),
    to: said.to as Hex | null,
    data: said.input as Hex,
  }
  const [r, s] = [said.r as Hex, said.s as Hex]
  if (said.type === '0x2') {
    const fees = {
      maxFeePerGas: amount(said.maxFeePerGas),
      maxPriorityFeePerGas: amount(said.maxPriorityFeePerGas),
    }
    const transaction = { ...common, ...fees, type: 'eip1559', chainId: 8_453 } as const
    return serializeTransaction(transaction, { r, s, yParity: Number(said.v) })
  }
  const transaction: TransactionSerializable = {
    ...common,
    type: 'legacy',
    gasPrice: amount(said.gasPrice),
  }
  return serializeTransaction(transaction, { r, s, v: amount(said.v) })
}

/** A recorded block in parts. */
export interface FlashblockOptions {
  readonly payloadId: string
  readonly height: number
  readonly parts: number
  /** Receipts below the name of their type, as older builders have them. */
  readonly named?: true
}

/** The recorded block of a chain as the flashblocks of it. */
export const buildFlashblocks = (
  name: string,
  { payloadId, height, parts, named }: FlashblockOptions,
): readonly Json[] => {
  const file = chainRecordingJson(name)
  const block = file.eth_getBlockByNumber as Json
  const transactions = block.transactions as readonly Json[]
  const receipts = file.eth_getBlockReceipts as readonly Json[]
  const size = Math.ceil(transactions.length / parts)
  return Array.from({ length: parts }, (_, index) => {
    const own = transactions.slice(index * size, (index + 1) * size)
    const told = own.map(({ hash }) => {
      const receipt = receipts.find(({ transactionHash }) => transactionHash === hash)
      return [hash, consensusReceipt(receipt ?? {}, named)] as const
    })
    return {
      payload_id: payloadId,
      index,
      ...(index === 0 && { base: flashblockBase(block, height) }),
      diff: {
        state_root: block.stateRoot,
        receipts_root: block.receiptsRoot,
        block_hash: keccak256(toHex(`${payloadId} ${index}`)),
        gas_used: block.gasUsed,
        transactions: own.map(rawOf),
        withdrawals: [],
      },
      metadata: {
        block_number: height,
        new_account_balances: {},
        receipts: Object.fromEntries(told),
      },
    }
  })
}

const flashblockBase = (block: Json, height: number): Json => ({
  parent_hash: block.parentHash,
  fee_recipient: block.miner,
  timestamp: block.timestamp,
  block_number: toHex(height),
  gas_limit: block.gasLimit,
  extra_data: block.extraData,
  base_fee_per_gas: block.baseFeePerGas,
})

/** A receipt as consensus has it: no places, and logs without any. */
const consensusReceipt = ({ type, status, cumulativeGasUsed, logs }: Json, named?: true): Json => {
  const bare = {
    status,
    cumulativeGasUsed,
    logs: (logs as readonly Json[]).map(({ address, topics, data }) => ({ address, topics, data })),
  }
  if (named) return { [type === '0x2' ? 'Eip1559' : type === '0x7e' ? 'Deposit' : 'Legacy']: bare }
  return { type, ...bare }
}
