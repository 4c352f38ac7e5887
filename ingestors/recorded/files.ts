import type { ChainExtra } from '../../core/config/settings.ts'
import { InvalidInput } from '../../core/errors.ts'
import { isJsonObject, parseJson } from '../../core/json.ts'
import { MAX_TRACE_DEPTH } from '../../core/rpc/endpoint.ts'
import { CHAIN_ID_BY_NAME, chainRow, type Vm } from '../../schemas/chains.ts'
import { recordedEvm } from '../evm/source/recorded.ts'
import { type Fields, fieldsOf } from '../input/json.ts'
import type { Recorded } from '../input/recorded-block.ts'
import { isBinpbFile, parseBinpbFile } from '../move/checkpoint/binpb-file.ts'
import { isChkFile, parseChkFile } from '../move/checkpoint/chk-file.ts'
import { parseMoveRecording } from '../move/source/recorded.ts'
import { parseSvmRecording } from '../svm/source/recorded.ts'

/**
 * A recorded file: a checkpoint file of Sui by its name, JSON otherwise. `factories` are those that the configuration adds: what a
 * Solana program says is kept only where the program is known. Throws `InvalidInput`; the reasons of `recordedBlock`, of
 * `parseChkFile` and of `parseBinpbFile`, and `not-json`.
 */
export const recordedFile = async (
  chain: string,
  file: string,
  content: string | Uint8Array,
  factories: ChainExtra['factories'] = [],
): Promise<Recorded> => {
  if (chainRow(chain)?.vm === 'move' && typeof content !== 'string') {
    if (isChkFile(file)) return parseChkFile(chain, content)
    if (isBinpbFile(file)) return parseBinpbFile(chain, content)
  }
  return recordedBlock(chain, parsed(content), factories)
}

const parsed = (content: string | Uint8Array): unknown => {
  try {
    const text = typeof content === 'string' ? content : Buffer.from(content).toString('utf8')
    return parseJson(text, { maxDepth: MAX_TRACE_DEPTH })
  } catch (cause) {
    throw new InvalidInput('not-json', 'the file is not JSON', { cause })
  }
}

/**
 * A parsed file of what a node of the chain answered, also in its JSON-RPC messages; the shapes are those of `recordedEvm`, `parseSvmRecording` and
 * `parseMoveRecording`. Throws `InvalidInput`; their reasons and `wrong-chain`.
 */
export const recordedBlock = (
  chain: string,
  json: unknown,
  factories: ChainExtra['factories'] = [],
): Recorded => {
  const file = fieldsOf(json, 'file')
  if (typeof file.chain === 'string' && CHAIN_ID_BY_NAME[file.chain] !== chain) {
    throw new InvalidInput(
      'wrong-chain',
      `recorded on ${file.chain.slice(0, 40)}, read as ${chain}`,
    )
  }
  return READERS[chainRow(chain)?.vm ?? 'evm'](chain, file, factories)
}

/** Answers out of their JSON-RPC messages: that of the whole file, and those that stand in it by the name of their method. */
const opened = (file: Fields): Fields => {
  const whole = resultIn(file)
  return Object.fromEntries(
    Object.entries(isJsonObject(whole) ? whole : file).map(([name, each]) => [
      name,
      resultIn(each),
    ]),
  )
}

const resultIn = (value: unknown): unknown =>
  isJsonObject(value) && value.jsonrpc !== undefined && value.result !== undefined
    ? value.result
    : value

type Reader = (chain: string, file: Fields, factories: ChainExtra['factories']) => Recorded

const READERS: Readonly<Record<Vm, Reader>> = {
  evm: (chain, file) => recordedEvm(chain, opened(file)),
  svm: (chain, file, factories) => parseSvmRecording(chain, opened(file), factories),
  move: (chain, file) => parseMoveRecording(chain, file),
}
