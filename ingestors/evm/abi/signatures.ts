/** Signatures of the events and methods that are met most, by the hash that chains carry: the hash is keccak-256 of the text. */

/** What a topic or a selector stands for. */
export interface Signature {
  readonly name: string
  readonly text: string
}

/** By first topic. An event of that hash with other indexed fields bears the same signature. */
const EVENTS: Readonly<Record<string, string>> = {
  '0x0c396cd989a39f4459b5fa1aed6a9a8dcdbc45908acfd67e028cd568da98982c':
    'Burn(address,int24,int24,uint128,uint256,uint256)',
  '0x0d3648bd0f6ba80134a33ba9275ac585d9d315f0ad8355cddefde31afa28d0e9':
    'PairCreated(address,address,address,uint256)',
  '0x17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31':
    'ApprovalForAll(address,address,bool)',
  '0x19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83':
    'Swap(address,address,int256,int256,uint160,uint128,int24,uint128,uint128)',
  '0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1': 'Sync(uint112,uint112)',
  '0x2170c741c41531aec20e7c107c24eecfdd15e69c9bb0a8dd37b1840b9e0b207b':
    'Swap(bytes32,address,address,uint256,uint256)',
  '0x2682012a4a4f1973119f1c9b90745d1bd91fa2bab387344f044cb3586864d18d':
    'PayoutRedemption(address,address,bytes32,bytes32,uint256[],uint256)',
  '0x26f6a048ee9138f2c0ce266f322cb99228e8d619ae2bff30c67f8dcf9d2377b4':
    'DecreaseLiquidity(uint256,uint128,uint256,uint256)',
  '0x2e6bb91f8cbcda0c93623c54d0403a43514fabc40084ec96b6d5379a74786298':
    'PositionSplit(address,address,bytes32,bytes32,uint256[],uint256)',
  '0x2f8788117e7eff1d82e926ec794901d17c78024a50270940304540a733656f0d':
    'RoleGranted(bytes32,address,address)',
  '0x3067048beee31b25b2f1681f88dac838c8bba36af25bfb2b7cf7473a5847e35f':
    'IncreaseLiquidity(uint256,uint128,uint256,uint256)',
  '0x40d0efd1a53d60ecbf40971b9daf7dc90178c3aadc7aab1765632738fa8b8f01':
    'Collect(uint256,address,uint256,uint256)',
  '0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f':
    'Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)',
  '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f':
    'UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)',
  '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb':
    'TransferBatch(address,address,address,uint256[],uint256[])',
  '0x4c209b5fc8ad50758f13e2e1088ba56a560dff690a1c6fef26394f4c03821c4f':
    'Mint(address,uint256,uint256)',
  '0x4dfe1bbbcf077ddc3e01291eea2d5c70c2b422b415d95645b9adcfd678cb1d63':
    'LogFeeTransfer(address,address,address,uint256,uint256,uint256,uint256,uint256)',
  '0x5db9ee0a495bf2e6ff9c91a7834c1ba4fdd244a5e8aa4e537bd38aeae4b073aa': 'Unpaused(address)',
  '0x62e78cea01bee320cd4e420270b5ea74000d11b0c9f74754ebdbfc544b05a258': 'Paused(address)',
  '0x63bf4d16b7fa898ef4c4b2b6d90fd201e9c56313b65638af6088d149d2ce956c':
    'OrdersMatched(bytes32,address,uint256,uint256,uint256,uint256)',
  '0x6bb7ff708619ba0610cba295a58592e0451dee2622938c8755667688daf3529b': 'URI(string,uint256)',
  '0x6f13ca62553fcc2bcd2372180a43949c1e4cebba603901ede2f4e14f36b282ca':
    'PositionsMerge(address,address,bytes32,bytes32,uint256[],uint256)',
  '0x70935338e69775456a85ddef226c395fb668b63fa0115f5f20610b388e6ca9c0':
    'Collect(address,address,int24,int24,uint128,uint128)',
  '0x783cca1c0412dd0d695e784568c96da2e9c22ff989357a2e8b1d9b2b4e6b7118':
    'PoolCreated(address,address,uint24,int24,address)',
  '0x7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde':
    'Mint(address,address,int24,int24,uint128,uint256,uint256)',
  '0x7e644d79422f17c01e4894b5f4f588d331ebfa28653d42ae832dc59e38c9798f':
    'AdminChanged(address,address)',
  '0x7f26b83ff96e1f2b6a682f133852f6798a09c465da95921460cefb3847402498': 'Initialized(uint8)',
  '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65':
    'Withdrawal(address,uint256)',
  '0x8b3e96f2b889fa771c53c981b40daf005f63f637f1869f707052d15a3dd97140':
    'TokenExchange(address,int128,uint256,int128,uint256)',
  '0x8be0079c531659141344cd1fd0a4f28419497f9722a3daafe3b4186f6b6457e0':
    'OwnershipTransferred(address,address)',
  '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925':
    'Approval(address,address,uint256)',
  '0x98636036cb66a9c19a37435efc1e90142190214e8abeb821bdba3f2990dd4c95': 'Initialize(uint160,int24)',
  '0xab3760c3bd2bb38b5bcf54dc79802ed67338b4cf29f3054ded67ed24661e4177':
    'ConditionPreparation(bytes32,address,bytes32,uint256)',
  '0xb2e76ae99761dc136e598d4a629bb347eccb9532a5f8bbd72e18467c3c34cc98':
    'TokenExchange(address,uint256,uint256,uint256,uint256)',
  '0xb44d84d3289691f71497564b85d4233648d9dbae8cbdbb4329f301c3a0185894':
    'ConditionResolution(bytes32,address,bytes32,uint256,uint256[])',
  '0xbc7cd75a20ee27fd9adebab32041f755214dbc6bffa90cc0225b39da2e5c2d3b': 'Upgraded(address)',
  '0xbc9a2432e8aeb48327246cddd6e872ef452812b4243c04e6bfb786a2cd8faf0d':
    'TokenRegistered(uint256,uint256,bytes32)',
  '0xbdbdb71d7860376ba52b25a5028beea23581364a40522f6bcfb86bb1f2dca633':
    'Flash(address,address,uint256,uint256,uint256,uint256)',
  '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62':
    'TransferSingle(address,address,address,uint256,uint256)',
  '0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67':
    'Swap(address,address,int256,int256,uint160,uint128,int24)',
  '0xd013ca23e77a65003c2c659c5442c00c805371b7fc1ebd4c206c41d1536bd90b':
    'TokenExchangeUnderlying(address,int128,uint256,int128,uint256)',
  '0xd0a08e8c493f9c94f29311604c9de1b4e8c8d4c06bd0c789af57f2d65bfec0f6':
    'OrderFilled(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)',
  '0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822':
    'Swap(address,uint256,uint256,uint256,uint256,address)',
  '0xdccd412f0b1252819cb1fd330b93224ca42612892bb3f4f789976e6d81936496':
    'Burn(address,uint256,uint256,address)',
  '0xdd466e674ea557f56295e2d0218a125ea4b4f0f6f3307b95f85e6110838d6438':
    'Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)',
  '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef':
    'Transfer(address,address,uint256)',
  '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c': 'Deposit(address,uint256)',
  '0xe5ce249087ce04f05a957192435400fd97868dba0e6a4b4c049abf8af80dae78':
    'PoolBalanceChanged(bytes32,address,address[],int256[],uint256[])',
  '0xe6497e3ee548a3372136af2fcb0696db31fc6cf20260707645068bd3fe97f3c4':
    'LogTransfer(address,address,address,uint256,uint256,uint256,uint256,uint256)',
  '0xf208f4912782fd25c7f114ca3723a2d5dd6f3bcc3ac8db5af63baa85f711d5ec':
    'ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)',
  '0xf6391f5c32d9c69d2a47ea670b442974b53935d1edc7fd64eb21e047a839171b':
    'RoleRevoked(bytes32,address,address)',
}

/** By the first four bytes of the input. */
const METHODS: Readonly<Record<string, string>> = {
  '0x022c0d9f': 'swap(uint256,uint256,address,bytes)',
  '0x02751cec': 'removeLiquidityETH(address,uint256,uint256,uint256,address,uint256)',
  '0x04e45aaf': 'exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))',
  '0x06fdde03': 'name()',
  '0x0902f1ac': 'getReserves()',
  '0x095ea7b3': 'approve(address,uint256)',
  '0x0dfe1681': 'token0()',
  '0x128acb08': 'swap(address,bool,int256,uint160,bytes)',
  '0x1626ba7e': 'isValidSignature(bytes32,bytes)',
  '0x1698ee82': 'getPool(address,address,uint24)',
  '0x18160ddd': 'totalSupply()',
  '0x18cbafe5': 'swapExactTokensForETH(uint256,uint256,address[],address,uint256)',
  '0x1fad948c':
    'handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)',
  '0x23b872dd': 'transferFrom(address,address,uint256)',
  '0x24856bc3': 'execute(bytes,bytes[])',
  '0x2e1a7d4d': 'withdraw(uint256)',
  '0x313ce567': 'decimals()',
  '0x3593564c': 'execute(bytes,bytes[],uint256)',
  '0x3850c7bd': 'slot0()',
  '0x38ed1739': 'swapExactTokensForTokens(uint256,uint256,address[],address,uint256)',
  '0x3df02124': 'exchange(int128,int128,uint256,uint256)',
  '0x40c10f19': 'mint(address,uint256)',
  '0x414bf389':
    'exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))',
  '0x42842e0e': 'safeTransferFrom(address,address,uint256)',
  '0x42966c68': 'burn(uint256)',
  '0x48c89491': 'unlock(bytes)',
  '0x50d25bcd': 'latestAnswer()',
  '0x52bbbe29':
    'swap((bytes32,uint8,address,address,uint256,bytes),(address,bool,address,bool),uint256,uint256)',
  '0x5ae401dc': 'multicall(uint256,bytes[])',
  '0x5b41b908': 'exchange(uint256,uint256,uint256,uint256)',
  '0x5c11d795':
    'swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)',
  '0x5c38449e': 'flashLoan(address,address[],uint256[],bytes)',
  '0x5c60da1b': 'implementation()',
  '0x6352211e': 'ownerOf(uint256)',
  '0x6a627842': 'mint(address)',
  '0x6a761202':
    'execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)',
  '0x70a08231': 'balanceOf(address)',
  '0x791ac947':
    'swapExactTokensForETHSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)',
  '0x7ff36ab5': 'swapExactETHForTokens(uint256,address[],address,uint256)',
  '0x8803dbee': 'swapTokensForExactTokens(uint256,uint256,address[],address,uint256)',
  '0x89afcb44': 'burn(address)',
  '0x8da5cb5b': 'owner()',
  '0x91dd7346': 'unlockCallback(bytes)',
  '0x95d89b41': 'symbol()',
  '0xa22cb465': 'setApprovalForAll(address,bool)',
  '0xa9059cbb': 'transfer(address,uint256)',
  '0xac9650d8': 'multicall(bytes[])',
  '0xb6f9de95':
    'swapExactETHForTokensSupportingFeeOnTransferTokens(uint256,address[],address,uint256)',
  '0xbaa2abde': 'removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)',
  '0xbc25cf77': 'skim(address)',
  '0xc04b8d59': 'exactInput((bytes,address,uint256,uint256,uint256))',
  '0xc45a0155': 'factory()',
  '0xd06ca61f': 'getAmountsOut(uint256,address[])',
  '0xd0e30db0': 'deposit()',
  '0xd21220a7': 'token1()',
  '0xd3487997': 'uniswapV3MintCallback(uint256,uint256,bytes)',
  '0xd505accf': 'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
  '0xdd62ed3e': 'allowance(address,address)',
  '0xddca3f43': 'fee()',
  '0xe6a43905': 'getPair(address,address)',
  '0xe8e33700': 'addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)',
  '0xf242432a': 'safeTransferFrom(address,address,uint256,uint256,bytes)',
  '0xf305d719': 'addLiquidityETH(address,uint256,uint256,uint256,address,uint256)',
  '0xfa461e33': 'uniswapV3SwapCallback(int256,int256,bytes)',
  '0xfb3bdb41': 'swapETHForExactTokens(uint256,address[],address,uint256)',
  '0xfeaf968c': 'latestRoundData()',
  '0xfff6cae9': 'sync()',
}

const signatures = (table: Readonly<Record<string, string>>): ReadonlyMap<string, Signature> =>
  new Map(
    Object.entries(table).map(([hash, text]) => [
      hash,
      { name: text.slice(0, text.indexOf('(')), text },
    ]),
  )

/** Signatures of events by first topic. */
export const EVENT_SIGNATURES = signatures(EVENTS)

/** Signatures of methods by selector. */
export const METHOD_SIGNATURES = signatures(METHODS)
