// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// A token with 18 decimals that treats transfers from and to its pools as its maker says, for tests on a local node. The maker is
/// exempt from all of it.
contract OddToken {
    string public constant name = "Odd Token";
    string public constant symbol = "ODD";
    uint8 public constant decimals = 18;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    address private immutable maker = msg.sender;
    mapping(address => bool) private isPool;
    mapping(address => bool) private maySell;
    /// Parts of a transfer from and to a pool that are taken, in hundredths of a percent.
    uint256 private buyFee;
    uint256 private sellFee;
    /// 0: all may sell; 1: others than sellers revert; 2: what others sell stays where it is, and the transfer says false.
    uint256 private closed;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(uint256 supply) {
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    modifier onlyMaker() {
        require(msg.sender == maker, "not the maker");
        _;
    }

    function addPool(address pool) external onlyMaker {
        isPool[pool] = true;
    }

    function addSeller(address seller) external onlyMaker {
        maySell[seller] = true;
    }

    function setTerms(uint256 buyFee_, uint256 sellFee_, uint256 closed_) external onlyMaker {
        (buyFee, sellFee, closed) = (buyFee_, sellFee_, closed_);
    }

    /// Takes what an address holds, which a pool does not notice before its next swap.
    function seize(address from, uint256 value) external onlyMaker {
        move(from, maker, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        return trade(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        require(allowance[from][msg.sender] >= value, "allowance is too small");
        allowance[from][msg.sender] -= value;
        return trade(from, to, value);
    }

    function trade(address from, address to, uint256 value) private returns (bool) {
        if (from == maker || to == maker) return move(from, to, value);
        if (isPool[to] && !maySell[from]) {
            require(closed != 1, "sales are closed");
            if (closed == 2) return false;
        }
        uint256 fee = (value * (isPool[from] ? buyFee : isPool[to] ? sellFee : 0)) / 10_000;
        if (fee > 0) move(from, maker, fee);
        return move(from, to, value - fee);
    }

    function move(address from, address to, uint256 value) private returns (bool) {
        require(balanceOf[from] >= value, "amount exceeds balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        return true;
    }
}
