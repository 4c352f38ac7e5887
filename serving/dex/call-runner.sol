// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// Makes calls as the account at whose address a node puts this code for one `eth_call`. It is on no chain.
contract CallRunner {
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    struct Answer {
        bool ok;
        bytes returned;
    }

    receive() external payable {}

    function run(Call[] calldata calls) external returns (Answer[] memory answers) {
        answers = new Answer[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            (answers[i].ok, answers[i].returned) = calls[i].to.call{value: calls[i].value}(calls[i].data);
        }
    }
}
