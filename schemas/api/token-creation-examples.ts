const EXTRA = { buyAmount: '100000000', slippage: 1 }
/** Of 3,520,918,711,316 base units 99 % are left. */
const BUY = {
  inAmount: EXTRA.buyAmount,
  outAmount: '3520918711316',
  minOutAmount: '3485709524202',
}
const INPUT = {
  dex: 'pumpfun',
  userAddress: '5zsxd4pGNCQpwyKiBWZ95nCTPsEPoS62xEGnjpW6FRy7',
  name: 'Lucky Otter',
  symbol: 'OTTER',
  uri: 'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG',
  extra: EXTRA,
}

/** Examples of new tokens, by the names of their schemas; the mint has signed the transaction. */
export const TOKEN_CREATION_EXAMPLES = {
  TokenCreationExtra: EXTRA,
  CreateTokenInput: INPUT,
  TokenCreationBuy: BUY,
  CreateTokenResponse: {
    serializedTx:
      'AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADQ7m2zF//lmu7S+Mvu22Mql3M7T990y0R+AH/dyB7PAmm2S+pqDgWzL+CPhhp38pDLT8zpV42SD6hGXvKK1rgJgAIADRpKQnktFp8fJjipwOpWq+KMs6dxuCT7xE1ftg2m5Ok4dmVkvMguuCmgISFA141CJpXYaV+KveUeRGS1kw3YtzCrIpFSf+uZsGkxgEK1hkhV2YATPXWZdwnqWOQt6Y0SZXY+ngh3BILtTF/PEGVWMj2PgEADXi59zH94w8TeakHP/mJ1eWJhY2tidXliYWNrYnV5YmFja2J1eWJhY2tidXliXFeIVxf5eoPQOGgt4rw3dHfECAriTKOzuyTRzLtv1LtmZWUgcmVjaXBpZW50ZmVlIHJlY2lwaWVudGZlZSByZWkzzei9oZivikx1c6g3/87myBWXl7S4mK7A4L+x5sj4bT7a2S/xuDjBpe/YJQGEvyYF9IOAyV7Wo5aPjXI9q8Oii1/SarR5pqnMbL9rCyPrYYhaNx4BIKypE77vPROKeLIDPqYcikZ8mk9aAS+YxI/avIm4H32hQ7ne6UoRweCL4WqMEPzQHFwtg71pwsnT9gPOnuvpdVt0rSo9KOewPU0FKuXXp9qnJKbqsKcpVJGFWtSgZxZgZ0xOA0VZgD1lowAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAK2uon2zxvPQTlzwogKfA+M5jwhTle/v7xcfxkr4F0E6hl5p7g9UgMq89mNX5NwvGNWNRcHqdIn7NyPZeTxypgFW4PaTZlrPRNsVaL8XW6pRicuX9dL/O2VdK7b9bRiwTp5PdQalOaINV08pfJn38ae8AJZos/L3BFLatxW4TGZvmrSk8ZWNwKnJTD+3LAeZWEPtpIXjok8QxpOZ+BmUD4yXJY9OJInxuz0QKRSODYMLWhOZ2v8QhASOe9jb6fhZrPE26wH8HE6IPSPItYRKtZo39mrdV8XprDtT4FnTXGQDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAPoJEaVIY0EtYx9OB4cDKWwDXw0TM6DZyIONc7cQ/m4tDDX/qQVajlaNqPe8B1YVJ0zxySykH0AAnFFqpBTCfHAG3fbh7nWP3hhCXbzkbM3athr8TYO5DSf+vfko2KGL/AbFwc5jjSVn0mRosF65UdGijcxuEjSCtcZ1FJdw5ivyRWymnoAlllCbOZwduo99+BmHi5+N/Z5I0qVxaFL1U30EFQAFAoxDAwAQEAEZAwUPAA0YEwwOCQcCFBB61pBM7F+LMbQLAAAATHVja3kgT3R0ZXIFAAAAT1RURVI1AAAAaXBmczovL1FtWXdBUEp6djVDWnNuQTYyNXMzWGYybmVtdFlnUHBIZFdFejc5b2pXblBiZEdKQnktFp8fJjipwOpWq+KMs6dxuCT7xE1ftg2m5Ok4dgATBgALAAENGAEBEBIPBgEDBQsADRgIFBAWChIXEQQZOPx0CJ7fzV8A4fUFAAAAAOpcepQrAwAAAQA=',
    mintAddress: '7poGfqsbscGXLTWg17cmLBXDzVKJEmugRAc9sxaiqAE6',
    recentBlockhash: '5g1DuY2segXKaCG1FS7MEG3hpU1cZCEeDyWPstFQYghi',
    lastValidBlockHeight: 394_000_150,
    buy: BUY,
    elapsedTime: 31,
  },
}
