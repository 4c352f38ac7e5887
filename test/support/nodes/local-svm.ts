import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import {
  type Address,
  address,
  createKeyPairSignerFromPrivateKeyBytes,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  type KeyPairSigner,
  lamports,
  signature,
  signTransaction,
} from '@solana/kit'
import { FailedTransactionMetadata, LiteSVM, type SimulatedTransactionInfo } from 'litesvm'
import { base58Decode } from '../../../core/base58.ts'

/** Solana's own runtime in this process, with the programs of the system and of tokens, behind the methods of a node. */
export interface LocalSvm {
  readonly url: string
  readonly svm: LiteSVM
  /** Answers by method in place of the runtime's, or what makes one of the parameters; null: none comes. */
  readonly answers: Map<string, unknown>
  /** Methods of the calls that came, the newest last. */
  readonly asked: string[]
  readonly stop: () => Promise<void>
}

/** Of no chain that is offered for payments. */
const GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqvRY3VKFw2JdAvzqyG'
const BLOCK_HEIGHT = 100

const decoded = (base64: unknown) =>
  getTransactionDecoder().decode(getBase64Encoder().encode(String(base64)))

const accountJson = (svm: LiteSVM, key: string) => jsonOf(svm.getAccount(address(key)))

const jsonOf = (account: ReturnType<LiteSVM['getAccount']>) =>
  account.exists ? fieldsOf(account) : null

const fieldsOf = (account: ReturnType<SimulatedTransactionInfo['postAccounts']>[number]) => {
  const data = [Buffer.from(account.data).toString('base64'), 'base64']
  const { programAddress: owner, executable, space } = account
  return { owner, executable, space: Number(space), lamports: Number(account.lamports), data }
}

const sliced = (
  account: ReturnType<typeof accountJson>,
  { dataSlice }: { readonly dataSlice?: { readonly offset: number; readonly length: number } },
) => {
  if (account === null || dataSlice === undefined) return account
  const { offset, length } = dataSlice
  const part = Buffer.from(account.data[0] ?? '', 'base64').subarray(offset, offset + length)
  return { ...account, data: [part.toString('base64'), 'base64'] }
}

/** Accounts that are asked for, after a run. */
interface RunOptions {
  readonly accounts?: { readonly addresses: readonly string[] }
}

const ran = (svm: LiteSVM, base64: unknown, { accounts }: RunOptions = {}) => {
  const outcome = svm.simulateTransaction(decoded(base64))
  const isFailed = outcome instanceof FailedTransactionMetadata
  const meta = outcome.meta()
  const after = isFailed ? [] : outcome.postAccounts()
  const afterRun = (key: string) => {
    const changed = after.find((each) => each.address === key)
    if (changed === undefined) return accountJson(svm, key)
    return changed.lamports === 0n ? null : fieldsOf(changed)
  }
  return {
    ...(accounts && { accounts: isFailed ? null : accounts.addresses.map(afterRun) }),
    err: isFailed ? String(outcome.err()) : null,
    logs: meta.logs(),
    unitsConsumed: Number(meta.computeUnitsConsumed()),
  }
}

/** Texts of errors of transactions without fields, by the runtime's numbers. Source: agave, TransactionError. */
const ERRORS: Readonly<Record<number, string>> = {
  2: 'Attempt to debit an account but found no record of a prior credit.',
  4: 'Insufficient funds for fee',
  6: 'This transaction has already been processed',
  7: 'Blockhash not found',
}
const textOf = (err: unknown): string =>
  (typeof err === 'number' ? ERRORS[err] : undefined) ?? String(err)

class NodeRefusal extends Error {
  readonly code = -32_002
  constructor(why: string) {
    super(`Transaction simulation failed: ${why}`)
  }
}

/** Runs a transaction for good, after a simulation unless it is unwanted, as `sendTransaction` of a node. */
const sent = (svm: LiteSVM, base64: unknown, { skipPreflight = false } = {}): string => {
  const transaction = decoded(base64)
  const name = getSignatureFromTransaction(transaction)
  const tried = skipPreflight ? undefined : svm.simulateTransaction(transaction)
  if (tried && svm.getTransaction(name) !== null) throw new NodeRefusal(textOf(6))
  if (tried instanceof FailedTransactionMetadata) throw new NodeRefusal(textOf(tried.err()))
  svm.sendTransaction(transaction)
  return name
}

const statusOf = (svm: LiteSVM, signed: string) => {
  const found = svm.getTransaction(signature(signed))
  if (found === null) return null
  const isFailed = found instanceof FailedTransactionMetadata
  const err = isFailed ? { InstructionError: textOf(found.err()) } : null
  return { slot: Number(svm.getClock().slot), confirmationStatus: 'confirmed', err }
}

const slotOf = (svm: LiteSVM): number => Number(svm.getClock().slot)

interface Served {
  readonly svm: LiteSVM
  readonly genesis: string
  /** Transactions that were sent, in base 64, the newest last. */
  readonly history: string[]
}

/** Those that name an account, the newest first. */
const signaturesFor = ({ svm, history }: Served, account: string, { limit = 1_000 }) =>
  history
    .filter((text) =>
      Buffer.from(text, 'base64').includes(Buffer.from(base58Decode(account) ?? [])),
    )
    .map((text) => getSignatureFromTransaction(decoded(text)))
    .reverse()
    .slice(0, limit)
    .map((name) => ({ signature: name, err: statusOf(svm, name)?.err ?? null }))

const transactionOf = ({ history }: Served, name: unknown) => {
  const text = history.find((each) => getSignatureFromTransaction(decoded(each)) === name)
  return text === undefined ? null : { transaction: [text, 'base64'], meta: { err: null } }
}

const METHODS: Readonly<Record<string, (served: Served, params: readonly unknown[]) => unknown>> = {
  getGenesisHash: ({ genesis }) => genesis,
  getSignaturesForAddress: (served, [account, options]) =>
    signaturesFor(served, String(account), Object(options)),
  getTransaction: (served, [name]) => transactionOf(served, name),
  getAccountInfo: ({ svm }, [key]) => ({
    context: { slot: slotOf(svm) },
    value: accountJson(svm, String(key)),
  }),
  getMultipleAccounts: ({ svm }, [keys, options]) => ({
    context: { slot: slotOf(svm) },
    value: (keys as readonly string[]).map((key) => sliced(accountJson(svm, key), Object(options))),
  }),
  getLatestBlockhash: ({ svm }) => ({
    context: { slot: slotOf(svm) },
    value: { blockhash: svm.latestBlockhash(), lastValidBlockHeight: BLOCK_HEIGHT + 150 },
  }),
  simulateTransaction: ({ svm }, [transaction, options]) => ({
    context: { slot: slotOf(svm) },
    value: ran(svm, transaction, Object(options)),
  }),
  sendTransaction: ({ svm, history }, [transaction, options]) => {
    const name = sent(svm, transaction, Object(options))
    history.push(String(transaction))
    return name
  },
  getSignatureStatuses: ({ svm }, [signatures]) => ({
    context: { slot: slotOf(svm) },
    value: (signatures as readonly string[]).map((signed) => statusOf(svm, signed)),
  }),
  isBlockhashValid: ({ svm }, [blockhash]) => ({
    context: { slot: slotOf(svm) },
    value: svm.latestBlockhash() === blockhash,
  }),
}

const resultOf = (run: () => unknown) => {
  try {
    return { result: run() }
  } catch (error) {
    if (!(error instanceof NodeRefusal)) throw error
    const { code, message } = error
    return { error: { code, message } }
  }
}

/** Starts one; nothing of it outlives the process. `genesis`: hash by which the chain is known. */
export const startLocalSvm = async (genesis = GENESIS): Promise<LocalSvm> => {
  const svm = new LiteSVM().withNativeMints().withSigverify(false)
  const answers = new Map<string, unknown>()
  const asked: string[] = []
  const served: Served = { svm, genesis, history: [] }
  const server = createServer(async (request, response) => {
    const { id, method, params = [] } = JSON.parse(await text(request))
    asked.push(method)
    const given = answers.get(method)
    if (given === null) return
    const run = METHODS[method]
    const answer = run
      ? resultOf(() => (typeof given === 'function' ? given(params) : given) ?? run(served, params))
      : { error: { code: -32_601, message: 'Method not found' } }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const place = server.address()
  assert(place !== null && typeof place === 'object')
  return {
    svm,
    answers,
    asked,
    url: `http://127.0.0.1:${place.port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A wallet with SOL, the same for the same number. */
export const fundedWallet = async (
  { svm }: Pick<LocalSvm, 'svm'>,
  number: number,
  amount: bigint,
): Promise<KeyPairSigner> => {
  const signer = await createKeyPairSignerFromPrivateKeyBytes(new Uint8Array(32).fill(number))
  svm.airdrop(signer.address, lamports(amount))
  return signer
}

/** Signs an unsigned transaction of the service, as a wallet does; base 64. */
export const signedBy = async (signer: KeyPairSigner, unsigned: string): Promise<string> => {
  const transaction = decoded(unsigned)
  return getBase64EncodedWireTransaction(await signTransaction([signer.keyPair], transaction))
}

/** Carries a signed transaction out; throws with its log where it fails. */
export const execute = ({ svm }: Pick<LocalSvm, 'svm'>, signed: string): void => {
  const outcome = svm.sendTransaction(decoded(signed))
  if (outcome instanceof FailedTransactionMetadata) {
    throw new Error(outcome.meta().logs().join('\n'))
  }
}

/** Puts an active look-up table of these addresses there. Layout: solana-program/address-lookup-table state.rs. */
export const putLookupTable = (
  node: Pick<LocalSvm, 'svm'>,
  key: string,
  addresses: readonly string[],
  { isActive = true } = {},
): void => {
  const head = Buffer.alloc(56)
  head.writeUInt32LE(1, 0)
  head.writeBigUInt64LE(isActive ? (1n << 64n) - 1n : 0n, 4)
  const keys = addresses.map((each) => base58Decode(each) ?? new Uint8Array())
  putAccount(node, key, {
    owner: 'AddressLookupTab1e1111111111111111111111111',
    data: Buffer.concat([head, ...keys]),
  })
}

/** Puts an account there. */
export const putAccount = (
  { svm }: Pick<LocalSvm, 'svm'>,
  key: string,
  { owner, data }: { readonly owner: string; readonly data: Uint8Array },
): void =>
  svm.setAccount({
    address: address(key),
    programAddress: address(owner) as Address,
    data,
    executable: false,
    lamports: lamports(1_000_000_000n),
    space: BigInt(data.length),
  })
