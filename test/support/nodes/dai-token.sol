// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// A token with 18 decimals whose signed permits have DAI's form, for tests on a local node: they allow everything or nothing, carry their
/// nonce, and those whose expiry is 0 have no end. An allowance of everything is not used up.
contract DaiToken {
    bytes32 public constant PERMIT_TYPEHASH =
        keccak256("Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)");
    uint256 private constant EVERYTHING = type(uint256).max;

    string public name;
    string public constant symbol = "DAIT";
    string public constant version = "1";
    uint8 public constant decimals = 18;
    uint256 public totalSupply;
    bytes32 public DOMAIN_SEPARATOR;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => uint256) public nonces;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(string memory name_, uint256 supply) {
        name = name_;
        DOMAIN_SEPARATOR = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256(bytes(name_)),
                keccak256(bytes(version)),
                block.chainid,
                address(this)
            )
        );
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function permit(
        address holder,
        address spender,
        uint256 nonce,
        uint256 expiry,
        bool allowed,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        bytes32 message = keccak256(abi.encode(PERMIT_TYPEHASH, holder, spender, nonce, expiry, allowed));
        address signer = ecrecover(keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR, message)), v, r, s);
        require(signer != address(0) && signer == holder, "invalid permit");
        require(expiry == 0 || block.timestamp <= expiry, "permit is expired");
        require(nonce == nonces[holder], "invalid nonce");
        nonces[holder] = nonce + 1;
        allow(holder, spender, allowed ? EVERYTHING : 0);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allow(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        require(allowed >= value, "allowance is too small");
        if (allowed != EVERYTHING) allowance[from][msg.sender] = allowed - value;
        move(from, to, value);
        return true;
    }

    function allow(address owner, address spender, uint256 value) private {
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }

    function move(address from, address to, uint256 value) private {
        require(balanceOf[from] >= value, "amount exceeds balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}
