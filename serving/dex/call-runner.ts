import {
  type Address,
  decodeErrorResult,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  pad,
  parseAbi,
} from 'viem'

const RUNNER = parseAbi([
  'struct Call { address to; uint256 value; bytes data; }',
  'struct Answer { bool ok; bytes returned; }',
  'function run(Call[] calls) returns (Answer[] answers)',
])

/**
 * Errors of Solidity itself, of Uniswap/universal-router Dispatcher.sol, V2SwapRouter.sol, V3SwapRouter.sol, and of traderjoe-xyz/joe-v2
 * ILBRouter.sol, ILBPair.sol.
 */
const ERRORS = parseAbi([
  'error Error(string)',
  'error Panic(uint256)',
  'error ExecutionFailed(uint256 commandIndex, bytes message)',
  'error V2TooLittleReceived()',
  'error V2TooMuchRequested()',
  'error V3TooLittleReceived()',
  'error V3TooMuchRequested()',
  'error LBRouter__InsufficientAmountOut(uint256 amountOutMin, uint256 amountOut)',
  'error LBRouter__MaxAmountInExceeded(uint256 amountInMax, uint256 amountIn)',
  'error LBPair__OutOfLiquidity()',
])

/** A call that an account makes. */
export interface AccountCall {
  readonly to: string
  readonly data: Hex
  /** Wei; default 0. */
  readonly valueRaw?: bigint
}

/** Result of a call; `returned` is its revert data where it failed. */
export interface CallAnswer {
  readonly ok: boolean
  readonly returned: Hex
}

/** Call data of the runner for calls one after the other; those that revert do not stop the others. */
export const runData = (calls: readonly AccountCall[]): Hex =>
  encodeFunctionData({
    abi: RUNNER,
    functionName: 'run',
    args: [
      calls.map(({ to, data, valueRaw = 0n }) => ({ to: to as Address, value: valueRaw, data })),
    ],
  })

/**
 * Code that answers the native balance of the address in its call data, and the address that a trial puts it at, where chains have none.
 * CALLDATALOAD, BALANCE, MSTORE, RETURN.
 */
export const BALANCE_CODE = {
  address: '0x6a1c3e5d0f7b92846c8e1d3b5f709a2c4e6d8b0f',
  code: '0x6000353160005260206000f3',
} as const

/** The call of a trial that answers what an account holds of the native token. */
export const nativeBalanceCall = (account: string): AccountCall => ({
  to: BALANCE_CODE.address,
  data: pad(account as Hex),
})

/** What each call gave; undefined for what the runner does not answer, such as nothing from a node that ran no code. */
export const readRun = (answered: unknown): readonly CallAnswer[] | undefined => {
  if (typeof answered !== 'string' || !/^0x[0-9a-f]{128,}$/i.test(answered)) return undefined
  try {
    return decodeFunctionResult({ abi: RUNNER, functionName: 'run', data: answered as Hex })
  } catch {
    return undefined
  }
}

/** The reason in revert data: the message, the code of a panic, or the name of the error; undefined where its error is not known. */
export const revertMessage = (data: Hex): string | undefined => {
  try {
    const { errorName, args } = decodeErrorResult({ abi: ERRORS, data })
    if (errorName === 'Error') return args[0]
    if (errorName === 'Panic') return String(args[0])
    return errorName === 'ExecutionFailed' ? (revertMessage(args[1]) ?? args[1]) : errorName
  } catch {
    return undefined
  }
}

/** Code of `call-runner.sol` as it would lie on a chain: solc 0.8.30, optimizer runs 1, viaIR, evm paris, no metadata. */
export const RUNNER_CODE = [
  '0x6080604052600436101561001b575b361561001957600080fd5b005b60003560e01c63b06f1eb40361000e5734',
  '610260576020366003190112610260576004356001600160401b0381116102605736602382011215610260576004',
  '8101356001600160401b038111610260576024820191602436918360051b0101116102605761009061008b826102',
  'c1565b61029c565b81815291601f196100a0836102c1565b0160005b81811061026557505060005b828110610160',
  '578360405160208101916020825280518093526040820192602060408260051b8501019201906000945b81861061',
  '00ed5784840385f35b909192603f1985820301825260208451805115158352015160406020830152805190816040',
  '84015260005b82811061014a5750506020606083836000838596600198010152601f801991011601019501920195',
  '01949190916100e0565b8060208092840101516060828701015201610118565b61016b8184846102d8565b356001',
  '600160a01b03811681036102605760206101898386866102d8565b0135906101978386866102d8565b6040810135',
  '90601e19813603018212156102605701803591906001600160401b03831161026057602001918036038313610260',
  '576000938493826040519384928337810185815203925af1903d15610255573d6001600160401b03811161023f57',
  '60019261020e601f8301601f191660200161029c565b9182523d6000602084013e5b6102248388610310565b5191',
  '6020610232858a610310565b51015215159052016100b0565b634e487b7160e01b600052604160045260246000fd',
  '5b60019160609061021a565b600080fd5b6040805190810191906001600160401b0383118184101761023f576020',
  '9260405260008152606083820152828288010152016100a4565b6040519190601f01601f19168201600160016040',
  '1b0381118382101761023f57604052565b6001600160401b03811161023f5760051b60200190565b919081101561',
  '02fa5760051b81013590605e1981360301821215610260570190565b634e487b7160e01b60005260326004526024',
  '6000fd5b80518210156102fa5760209160051b01019056',
].join('')
