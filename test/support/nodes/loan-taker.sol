// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

interface Token {
    function transfer(address to, uint256 value) external returns (bool);
}

interface Lender {
    function flashLoan(address receiver, bytes32 amounts, bytes calldata data) external;
}

/// Takes a loan of a pair of Liquidity Book and gives it back with its fee, which it must hold already.
contract LoanTaker {
    function take(address lender, bytes32 amounts) external {
        Lender(lender).flashLoan(address(this), amounts, "");
    }

    function LBFlashLoanCallback(
        address,
        address tokenX,
        address tokenY,
        bytes32 amounts,
        bytes32 fees,
        bytes calldata
    ) external returns (bytes32) {
        uint256 x = uint128(uint256(amounts)) + uint256(uint128(uint256(fees)));
        uint256 y = (uint256(amounts) >> 128) + (uint256(fees) >> 128);
        if (x > 0) Token(tokenX).transfer(msg.sender, x);
        if (y > 0) Token(tokenY).transfer(msg.sender, y);
        return keccak256("LBPair.onFlashLoan");
    }
}
